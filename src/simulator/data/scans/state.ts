/** What became of an agent's scans: when the last one was started, and which findings were cleared since. */
import type { SimAgent, SimNode, World } from '../../model.ts'
import { lastScan, type Machine } from '../machine.ts'
import { after } from '../times.ts'

export type ScanState = Pick<SimAgent, 'cleared' | 'lastScan'>

const HALF_A_DAY = 43_200_000
/** How long a scan takes, in seconds. */
const TAKES = 48

// Agent 000 is the node itself, so each node has scans of its own for it.
const ownScans = new WeakMap<SimNode, ScanState>()

/** The state that a clear or a new scan changes. */
export function scanStateOf(node: SimNode, agent: SimAgent): ScanState {
  if (agent.id !== '000') return agent
  const known = ownScans.get(node) ?? { cleared: new Set() }
  ownScans.set(node, known)
  return known
}

/** When the last scan began: the one that was asked for, or the one that comes every twelve hours. */
export function scanStart(world: World, machine: Machine, state: ScanState): Date {
  return state.lastScan ?? lastScan(world.seed, machine.key, machine.scanned, HALF_A_DAY)
}

/** When the scan that began then ended; undefined while it runs. */
export function scanEnd(world: World, start: Date): Date | undefined {
  const end = after(start, TAKES)
  return end <= world.now() ? end : undefined
}
