/** The host behind an agent, as the node that holds its data knows it. */
import { statusOf } from '../agent-state.ts'
import type { SimAgent, SimNode, World } from '../model.ts'
import { type Random, randomFor } from './random.ts'
import { after } from './times.ts'

const HOUR = 3_600_000

export interface Machine {
  /** Its place among all hosts: the agent's id; for `000`, which is the node itself, the node's name besides. */
  readonly key: string
  readonly host: string
  readonly address: string
  readonly os: Readonly<Record<string, string>>
  readonly kind: 'linux' | 'windows' | 'mac'
  /** When the last scan of its inventory began. */
  readonly scanned: Date
  /** A stream for one kind of data that stays as it is, from scan to scan. */
  lasting(kind: string): Random
  /** A stream for what changes with every scan. */
  passing(kind: string): Random
}

/** Nothing for an agent that never connected or told its system, or that reports to another node. */
export function machineOf(world: World, node: SimNode, agent: SimAgent): Machine | undefined {
  const { os, lastKeepAlive } = agent
  const own = agent.id === '000'
  if (os === undefined || lastKeepAlive === undefined || (!own && agent.node !== node.name)) return undefined
  const key = own ? `000 ${node.name}` : agent.id
  const heard = statusOf(agent, world.now()) === 'Active' ? world.now() : lastKeepAlive
  const scanned = lastScan(world.seed, key, heard, HOUR)
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
 * When a scan that is made every `period` milliseconds last began. All hosts move on to their next scan at the
 * same moment, a full period of the clock, so that data read twice within seconds is nearly always the same.
 */
export function lastScan(seed: number, key: string, heard: Date, period: number): Date {
  const phase = randomFor(seed, 'phase', key, period).int(0, period / 1000 - 60)
  return after(new Date(Math.floor(heard.getTime() / period) * period), -phase - 60)
}
