/** The population of the simulated cluster: groups, and agents of every kind in a plausible mix. */
import { lastBeat, makeKey } from './agent-state.ts'
import { type Random, randomFor } from './data/random.ts'
import type { SimAgent, SimNode } from './model.ts'
import { osOf, systems } from './systems.ts'
import { isMasterOnly } from './v4/releases.ts'

const DAY = 86_400_000

/** The purpose of an agent determines its name and groups. */
const roles: readonly (readonly [name: string, groups: readonly string[]])[] = [
  ['web', ['web']],
  ['db', ['db']],
  ['app', ['default']],
  ['mail', ['dmz']],
  ['proxy', ['web', 'dmz']],
  ['build', ['default']],
  ['office', ['default', 'desktop']],
  ['lab', []],
]

export const groupNames = ['default', 'web', 'db', 'dmz', 'desktop']

/** Most agents have the version of the manager, some are older, a few too old for remote configuration. */
const olderVersions = ['3.11.3', '3.11.0', '3.10.2', '3.9.5', '3.8.2', '3.5.0', '3.2.1']
/** A manager of release 5.0 has agents of releases 4. */
const olderThan5 = ['4.14.6', '4.14.3', '4.12.0', '4.9.2', '4.7.5']

export interface Circumstances {
  readonly seed: number
  readonly version: string
  readonly nodes: readonly SimNode[]
  readonly now: Date
}

/** Returns agent number `n` (1, 2, …): always the same one for the same seed, independent of the number of agents. */
export function makeAgent(n: number, world: Circumstances): SimAgent {
  const random = randomFor(world.seed, 'agent', n)
  const id = String(n).padStart(3, '0')
  const [role, groups] = random.pick(roles)
  const name = `${role}-${id}`
  const ip = random.chance(0.04) ? 'any' : `10.${1 + (n >> 16)}.${(n >> 8) & 255}.${n & 255}`
  const dateAdd = secondsBefore(world.now, 90 * DAY - random.int(0, 60 * DAY))
  const agent = {
    id,
    name,
    ip,
    registerIP: ip,
    key: makeKey(id, name, ip, random.hex(64)),
    dateAdd,
    groups: [...groups],
    cleared: new Set<'syscheck' | 'rootcheck'>(),
    restarts: 0,
  }
  return { ...agent, ...connection(n, id, name, world, random) }
}

type Connection = Pick<SimAgent, 'lastKeepAlive' | 'version' | 'node' | 'os' | 'lastScan'>

/** By number and not at random, so that every status occurs in a small cluster too. */
function connection(n: number, id: string, name: string, world: Circumstances, random: Random): Connection {
  if (n % 20 === 0) return {}
  const node = world.nodes[(n - 1) % world.nodes.length]?.name
  const silent = n % 10 === 7
  const lastKeepAlive = silent ? secondsBefore(world.now, random.int(DAY / 12, 20 * DAY)) : lastBeat(id, world.now)
  const known = { lastKeepAlive, ...(node === undefined ? {} : { node }) }
  if (n % 50 === 33) return known
  const version = random.chance(0.75)
    ? world.version
    : random.pick(isMasterOnly(world.version) ? olderThan5 : olderVersions)
  return {
    ...known,
    version: `Wazuh v${version}`,
    os: osOf(random.pick(systems), name),
    lastScan: secondsBefore(lastKeepAlive, random.int(60_000, DAY / 2)),
  }
}

function secondsBefore(moment: Date, milliseconds: number): Date {
  return new Date(Math.floor((moment.getTime() - milliseconds) / 1000) * 1000)
}
