/** Draws the faults of a chaos run: the seed determines the whole plan. */
import { createRandom } from '../coherence/random.ts'

export interface PlannedFault {
  readonly name: string
  /** Milliseconds without a fault before it. */
  readonly pause: number
  /** Milliseconds of the fault. */
  readonly ms: number
  /** Chooses the replica or the node. */
  readonly target: number
}

const LEAST_PAUSE_MS = 1000
const MORE_PAUSE_MS = 4000
/** Shorter and longer than the lease of the local tier. */
const LEAST_FAULT_MS = 500
const MORE_FAULT_MS = 5000

/**
 * Returns as many faults as fit into the time. Every fault is drawn once before any is repeated. `factors`: those of the
 * duration of single faults.
 */
export function drawPlan(
  names: readonly string[],
  seed: number,
  time: number,
  factors: Readonly<Record<string, number>> = {},
): PlannedFault[] {
  const random = createRandom(seed)
  const plan: PlannedFault[] = []
  let left: string[] = []
  for (let used = 0; used < time; ) {
    if (left.length === 0) left = [...names]
    const [name = ''] = left.splice(random.below(left.length), 1)
    const fault = {
      name,
      pause: LEAST_PAUSE_MS + random.below(MORE_PAUSE_MS),
      ms: (factors[name] ?? 1) * (LEAST_FAULT_MS + random.below(MORE_FAULT_MS)),
      target: random.below(1_000_000),
    }
    used += fault.pause + fault.ms
    plan.push(fault)
  }
  return plan
}
