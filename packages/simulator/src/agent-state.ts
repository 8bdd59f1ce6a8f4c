/** The state of an agent at a moment as the manager reports it: status, row, times as text. */
import { stamp } from './data/times.ts'
import type { SimAgent } from './model.ts'

const SECOND = 1000
/** Seconds without a keepalive after which an agent is disconnected. */
export const SILENCE = 1800 * SECOND
/** Seconds between two keepalives of an agent. */
const BEAT = 10 * SECOND

export type AgentStatus = 'Active' | 'Disconnected' | 'Pending' | 'Never connected'

export function statusOf(agent: SimAgent, now: Date): AgentStatus {
  if (agent.id === '000') return 'Active'
  if (agent.lastKeepAlive === undefined) return 'Never connected'
  if (agent.version === undefined) return 'Pending'
  return now.getTime() - agent.lastKeepAlive.getTime() <= SILENCE ? 'Active' : 'Disconnected'
}

/** Returns the last complete second, so that an event of now is older than `0s` for the next request. */
export function justNow(now: Date): Date {
  return new Date(Math.floor(now.getTime() / SECOND) * SECOND - SECOND)
}

/** Returns the latest keepalive of a live agent. Each agent has its own second within the interval. */
export function lastBeat(id: string, now: Date): Date {
  const phase = ((Number(id) * 7) % 10) * SECOND
  return new Date(Math.floor((justNow(now).getTime() - phase) / BEAT) * BEAT + phase)
}

/** Returns the secret part of an agent's key. */
export function secretOf(agent: SimAgent): string | undefined {
  return Buffer.from(agent.key, 'base64').toString('utf8').split(' ')[3]
}

/** Returns the key of the agent: base64 of "id name ip secret". */
export function makeKey(id: string, name: string, ip: string, secret: string): string {
  return Buffer.from(`${id} ${name} ${ip} ${secret}`).toString('base64')
}

const cachedRows = new WeakMap<SimAgent, { readonly of: readonly unknown[]; readonly row: AgentRow }>()

type AgentRow = Readonly<Record<string, unknown>>

/**
 * Returns the row of an agent in the agents endpoints; `internal_key` is a hidden field of the same table. The row is
 * cached until the agent changes, because one page of a large collection needs thousands of rows.
 */
export function rowOf(agent: SimAgent, now: Date): AgentRow {
  const { name, ip, registerIP, key, lastKeepAlive, dateAdd, version, node, groups, os, configSum, mergedSum } = agent
  const status = statusOf(agent, now)
  const times = [lastKeepAlive?.getTime(), dateAdd.getTime()]
  const of = [...times, name, ip, registerIP, key, version, node, groups.join(), os, configSum, mergedSum, status]
  const before = cachedRows.get(agent)
  if (before?.of.every((part, at) => part === of[at]) === true) return before.row
  const row = withoutAbsent({
    os,
    lastKeepAlive: lastKeepAlive && stamp(lastKeepAlive),
    registerIP,
    name,
    group: groups.length > 0 ? [...groups] : undefined,
    status,
    manager: node,
    mergedSum,
    dateAdd: stamp(dateAdd),
    id: agent.id,
    node_name: node ?? 'unknown',
    configSum,
    version,
    ip,
    internal_key: secretOf(agent),
  })
  cachedRows.set(agent, { of, row })
  return row
}

function withoutAbsent(row: Record<string, unknown>): AgentRow {
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== undefined))
}
