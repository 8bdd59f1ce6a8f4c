/** The state of an agent at a moment as the manager reports it: status, row, times as text. */
import { stamp } from './data/times.ts'
import type { SimAgent, World } from './model.ts'

const SECOND = 1000
/** Seconds without a keepalive after which an agent is disconnected. */
export const SILENCE = 1800 * SECOND
/** Seconds between two keepalives of an agent. */
const BEAT = 10 * SECOND

export type AgentStatus = 'Active' | 'Disconnected' | 'Pending' | 'Never connected'

export function statusOf(agent: SimAgent, now: Date): AgentStatus {
  if (agent.id === '000') return 'Active'
  if (agent.lastKeepAlive === undefined) return 'Never connected'
  if (agent.version === undefined || agent.isPending === true) return 'Pending'
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

/** Returns `lastBeat` for many agents: agents with the same last digit have the same one. */
export function lastBeats(now: Date): (id: string) => Date {
  const beats = Array.from({ length: 10 }, (_, digit) => lastBeat(String(digit), now))
  return (id) => beats[id.charCodeAt(id.length - 1) - 48] ?? lastBeat(id, now)
}

/** Returns the number of active agents of each node, without the node itself if `withManager` is false. */
export function countActive(world: World, withManager: boolean): ReadonlyMap<string | undefined, number> {
  const now = world.now()
  const counts = new Map<string | undefined, number>()
  for (const agent of world.agents.values()) {
    if ((agent.id === '000' && !withManager) || statusOf(agent, now) !== 'Active') continue
    counts.set(agent.node, (counts.get(agent.node) ?? 0) + 1)
  }
  return counts
}

/** Returns the secret part of an agent's key. */
export function secretOf(agent: SimAgent): string | undefined {
  return Buffer.from(agent.key, 'base64').toString('utf8').split(' ')[3]
}

/** Returns the key of the agent: base64 of "id name ip secret". */
export function makeKey(id: string, name: string, ip: string, secret: string): string {
  return Buffer.from(`${id} ${name} ${ip} ${secret}`).toString('base64')
}

/** What a row was made of. Groups are changed in place, the other values are replaced. */
interface CachedRow {
  readonly agent: Readonly<SimAgent>
  readonly groups: string
  readonly status: AgentStatus
  readonly row: AgentRow
}

const cachedRows = new WeakMap<SimAgent, CachedRow>()

type AgentRow = Readonly<Record<string, unknown>>

/**
 * Returns the row of an agent in the agents endpoints; `internal_key` is a hidden field of the same table. The row is
 * cached until the agent changes, because one page of a large collection needs all rows.
 */
export function rowOf(agent: SimAgent, now: Date): AgentRow {
  const status = statusOf(agent, now)
  const groups = agent.groups.join()
  const before = cachedRows.get(agent)
  if (before?.status === status && before.groups === groups && isUnchanged(before.agent, agent)) return before.row
  const { name, ip, registerIP, lastKeepAlive, dateAdd, version, node, os, configSum, mergedSum } = agent
  const row = withoutAbsent({
    os,
    lastKeepAlive: lastKeepAlive && stamp(lastKeepAlive),
    registerIP,
    name,
    group: groups === '' ? undefined : [...agent.groups],
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
  cachedRows.set(agent, { agent: { ...agent }, groups, status, row })
  return row
}

function isUnchanged(before: Readonly<SimAgent>, agent: SimAgent): boolean {
  return (
    before.lastKeepAlive?.getTime() === agent.lastKeepAlive?.getTime() &&
    before.mergedSum === agent.mergedSum &&
    before.configSum === agent.configSum &&
    before.version === agent.version &&
    before.node === agent.node &&
    before.os === agent.os &&
    before.name === agent.name &&
    before.ip === agent.ip &&
    before.registerIP === agent.registerIP &&
    before.key === agent.key &&
    before.dateAdd.getTime() === agent.dateAdd.getTime()
  )
}

function withoutAbsent(row: Record<string, unknown>): AgentRow {
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== undefined))
}
