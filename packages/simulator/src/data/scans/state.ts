/** The state of an agent's scans: the start of the last one, and the findings cleared since. */
import type { SimAgent, SimNode, World } from '../../model.ts'
import { lastScan, type Machine } from '../machine.ts'
import { after } from '../times.ts'

export type ScanState = Pick<SimAgent, 'cleared' | 'lastScan'>

const HALF_A_DAY = 43_200_000
/** Duration of a scan in seconds. */
const TAKES = 48

// Agent 000 is the node itself, so each node has separate scans for it.
const ownScans = new WeakMap<SimNode, ScanState>()

/** Returns the state that a clear request or a new scan changes. */
export function scanStateOf(node: SimNode, agent: SimAgent): ScanState {
  if (agent.id !== '000') return agent
  const known = ownScans.get(node) ?? { cleared: new Set() }
  ownScans.set(node, known)
  return known
}

/** Returns the start of the last scan: a requested one or the periodic one every twelve hours. */
export function scanStart(world: World, machine: Machine, state: ScanState): Date {
  return state.lastScan ?? lastScan(world.seed, machine.key, machine.scanned, HALF_A_DAY)
}

/** Returns the end of the scan that began at the given time; undefined while it runs. */
export function scanEnd(world: World, start: Date): Date | undefined {
  const end = after(start, TAKES)
  return end <= world.now() ? end : undefined
}
