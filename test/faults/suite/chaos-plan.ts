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
/** A long fault takes a multiple of this time: with 20, an outage takes at least a minute. */
const LEAST_LONG_FAULT_MS = 3000
const MORE_LONG_FAULT_MS = 2500

export interface PlanOptions {
  /** Factors of the duration of long faults. */
  readonly factors?: Readonly<Record<string, number>>
  /** Every plan has each of these faults, however short its time is. */
  readonly always?: readonly string[]
}

/**
 * Returns as many faults as fit into the time, and those of `always` first. Every fault is drawn once before any is repeated.
 */
export function drawPlan(
  names: readonly string[],
  seed: number,
  time: number,
  { factors = {}, always = [] }: PlanOptions = {},
): PlannedFault[] {
  const random = createRandom(seed)
  const plan: PlannedFault[] = []
  const first = names.filter((name) => always.includes(name))
  const others = names.filter((name) => !always.includes(name))
  const rounds = [first, others].filter(({ length }) => length > 0)
  let left: string[] = []
  for (let used = 0; used < time || plan.length < first.length; ) {
    if (left.length === 0) left = [...(rounds.shift() ?? names)]
    const [name = ''] = left.splice(random.below(left.length), 1)
    const factor = factors[name]
    const fault = {
      name,
      pause: LEAST_PAUSE_MS + random.below(MORE_PAUSE_MS),
      ms:
        factor === undefined
          ? LEAST_FAULT_MS + random.below(MORE_FAULT_MS)
          : factor * (LEAST_LONG_FAULT_MS + random.below(MORE_LONG_FAULT_MS)),
      target: random.below(1_000_000),
    }
    used += fault.pause + fault.ms
    plan.push(fault)
  }
  return plan
}
