/** The values of the v4 layout: times, states of agents, and rows of agents. */
import { rowOf, statusOf } from '../agent-state.ts'
import { agentSums } from '../group-files.ts'
import type { SimAgent, SimNode, World } from '../model.ts'
import type { Item } from './collection.ts'
import { hasRelease5 } from './releases.ts'

/** `2026-11-22 10:00:00` or `2026/11/22 10:00:00` → `2026-11-22T10:00:00+00:00`. */
export function isoOf(stamp: string): string {
  return `${stamp.replaceAll('/', '-').replace(' ', 'T')}+00:00`
}

/** `2026-11-22 10:00:00` → `2026-11-22T10:00:00Z`. */
export function zuluOf(stamp: string): string {
  return `${stamp.replace(' ', 'T')}Z`
}

/** `2026-11-22T10:00:00+00:00` */
export function isoAt(time: Date): string {
  return `${time.toISOString().slice(0, 19)}+00:00`
}

/** `2026-11-22T10:00:00Z` */
export function zuluAt(time: Date): string {
  return `${time.toISOString().slice(0, 19)}Z`
}

const words = {
  Active: 'active',
  Disconnected: 'disconnected',
  Pending: 'pending',
  'Never connected': 'never_connected',
} as const

type StatusWord = (typeof words)[keyof typeof words]

export function statusWord(agent: SimAgent, now: Date): StatusWord {
  return words[statusOf(agent, now)]
}

export function isActive(agent: SimAgent, now: Date): boolean {
  return statusOf(agent, now) === 'Active'
}

/** Whether the agent reports the checksum of its groups' present files. */
export function isSynced(agent: SimAgent, world: World): boolean {
  return agent.id === '000' || agent.mergedSum === agentSums(agent, world.groups).mergedSum
}

const made = new WeakMap<Item, { readonly synced: boolean; readonly row: Item }>()

/** Returns the row of an agent; `internal_key` is a hidden field. The same object until the agent changes. */
function agentRow(agent: SimAgent, world: World, synced = isSynced(agent, world)): Item {
  const now = world.now()
  const v3 = rowOf(agent, now)
  const known = made.get(v3)
  if (known?.synced === synced) return known.row
  const { lastKeepAlive, dateAdd, status: _, node_name, ...rest } = v3 as Readonly<Record<string, string>>
  const row = {
    ...rest,
    ...timesOf(agent, v3, now),
    node_name,
    group_config_status: synced ? 'synced' : 'not synced',
  }
  made.set(v3, { synced, row })
  return row
}

function timesOf(agent: SimAgent, v3: Item, now: Date) {
  const { lastKeepAlive, dateAdd } = v3 as Readonly<Record<string, string>>
  const status = statusWord(agent, now)
  return {
    ...(lastKeepAlive === undefined ? {} : { lastKeepAlive: isoOf(lastKeepAlive) }),
    ...(status === 'disconnected' && lastKeepAlive !== undefined ? { disconnection_time: isoOf(lastKeepAlive) } : {}),
    dateAdd: isoOf(dateAdd ?? ''),
    status,
  }
}

const madeOf5 = new WeakMap<Item, Item>()
const OS_FIELDS = ['arch', 'major', 'minor', 'name', 'platform', 'type', 'version'] as const
const TYPES: Readonly<Record<string, string>> = { windows: 'windows', darwin: 'macos' }
const DISCONNECTED = 2

/** Returns the row of an agent as release 5.0 has it: nothing about nodes and checksums, but the type of its system. */
function rowOf5(agent: SimAgent, world: World): Item {
  const now = world.now()
  const v3 = rowOf(agent, now)
  const known = madeOf5.get(v3)
  if (known !== undefined) return known
  const { id, name, ip, registerIP, group, version, internal_key, os } = v3
  const system = os as Readonly<Record<string, string>> | undefined
  const typed = system && { type: TYPES[system.platform ?? ''] ?? 'linux', ...system }
  const times = timesOf(agent, v3, now)
  const row = {
    ...(typed && {
      os: Object.fromEntries(OS_FIELDS.map((field) => [field, typed[field as keyof typeof typed] ?? ''])),
    }),
    status_code: times.status === 'disconnected' ? DISCONNECTED : 0,
    ...{ id, name, ip, registerIP },
    ...(group !== undefined && { group }),
    ...(version !== undefined && { version: String(version).replace('Wazuh ', '') }),
    ...times,
    internal_key,
  }
  madeOf5.set(v3, row)
  return row
}

/** A node, and its cluster. */
export interface Place {
  readonly world: World
  readonly node: SimNode
}

/** Returns `isSynced` for many agents: those with the same groups and checksum are compared once. */
export function compareSums(world: World): (agent: SimAgent) => boolean {
  const compared = new Map<string, boolean>()
  return (agent) => {
    const key = `${agent.id === '000'} ${agent.groups.join()} ${agent.mergedSum}`
    const synced = compared.get(key) ?? isSynced(agent, world)
    compared.set(key, synced)
    return synced
  }
}

/** Returns the rows of agents as the release of the node has them. */
export function agentRows(agents: Iterable<SimAgent>, place: Place): Item[] {
  const { world } = place
  if (hasRelease5(place)) return [...agents].map((agent) => rowOf5(agent, world))
  const isSyncedHere = compareSums(world)
  return [...agents].map((agent) => agentRow(agent, world, isSyncedHere(agent)))
}

/** Returns the release of an agent (`4.5.4`); undefined for an agent that never reported. */
export function releaseOf({ version }: SimAgent): readonly number[] | undefined {
  return version === undefined
    ? undefined
    : version
        .replace(/^(?:Wazuh )?v/, '')
        .split('.')
        .map(Number)
}

/** Whether a release precedes another one. */
export function isBefore(release: readonly number[], other: readonly number[]): boolean {
  const at = release.findIndex((part, place) => part !== (other[place] ?? 0))
  return at >= 0 && (release[at] ?? 0) < (other[at] ?? 0)
}
