/** The host of an agent, as seen by the node that stores its data. */
import { statusOf } from '../agent-state.ts'
import type { SimAgent, SimNode, World } from '../model.ts'
import { type Random, randomFor } from './random.ts'
import { after } from './times.ts'

const HOUR = 3_600_000

export interface Machine {
  /** The identity of the host: the agent's id and, for `000`, the name of the node. */
  readonly key: string
  readonly host: string
  readonly address: string
  readonly os: Readonly<Record<string, string>>
  readonly kind: 'linux' | 'windows' | 'mac'
  /** The start of the last inventory scan. */
  readonly scanned: Date
  /** A random stream for data that does not change between scans. */
  lasting(kind: string): Random
  /** A random stream for data that changes with every scan. */
  passing(kind: string): Random
}

/** Returns undefined for an agent that never connected, has no known system, or reports to another node. */
export function machineOf(world: World, node: SimNode, agent: SimAgent): Machine | undefined {
  const { os, lastKeepAlive } = agent
  const own = agent.id === '000'
  if (os === undefined || lastKeepAlive === undefined || (!own && agent.node !== node.name)) return undefined
  const key = own ? `000 ${node.name}` : agent.id
  const lastKeepalive = statusOf(agent, world.now()) === 'Active' ? world.now() : lastKeepAlive
  const scanned = lastScan(world.seed, key, lastKeepalive, HOUR)
  return {
    key,
    host: own ? node.name : agent.name,
    address: own || agent.ip === 'any' ? node.ip : agent.ip,
    os,
    kind: os.platform === 'windows' ? 'windows' : os.platform === 'darwin' ? 'mac' : 'linux',
    scanned,
    lasting: (kind) => randomFor(world.seed, kind, key),
    passing: (kind) => randomFor(world.seed, kind, key, scanned.getTime()),
  }
}

/**
 * Returns the start of the last periodic scan (`period` in milliseconds). All hosts start their scans at the same
 * moment, a multiple of the period, so that data that is read twice within seconds is almost always equal.
 */
export function lastScan(seed: number, key: string, lastKeepalive: Date, period: number): Date {
  const phase = randomFor(seed, 'phase', key, period).int(0, period / 1000 - 60)
  return after(new Date(Math.floor(lastKeepalive.getTime() / period) * period), -phase - 60)
}
