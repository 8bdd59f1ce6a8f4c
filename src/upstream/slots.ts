/** The slots of one node, which replicas share: the calls of this one that have a slot, and how many may have one. */
import type { NodeSlots } from '../core/node-call.ts'
import { CallLimit } from './call-limit.ts'
import type { NodeLimits } from './options.ts'

export class Slots {
  readonly limit: CallLimit
  readonly #limits: () => Pick<NodeLimits, 'inFlight'>
  /** `undefined`: this process shares the limit of the node with no other. */
  readonly shared: NodeSlots | undefined
  /** The calls that have ended at the edge, and keep their slots: the node may still work on them. */
  readonly late = new Set<object>()
  /** The calls that have a slot. */
  taken = 0

  constructor(limits: () => Pick<NodeLimits, 'inFlight'>, shared: NodeSlots | undefined) {
    this.#limits = limits
    this.shared = shared
    this.limit = new CallLimit(limits().inFlight)
  }

  /** A limit that was lowered because calls are late leaves room for their work already. */
  get #max(): number {
    return Math.min(this.#limits().inFlight, this.limit.value + this.late.size)
  }

  /** Calls that this replica may have in flight now. */
  get usable(): number {
    return Math.min(this.#max, this.shared?.usable ?? Number.POSITIVE_INFINITY)
  }

  /** Slots that no replica uses. */
  get free(): number {
    return Math.min(this.#max, this.shared?.available ?? Number.POSITIVE_INFINITY) - this.taken
  }

  /** Calls that may be in flight over time, for estimates. */
  get expected(): number {
    return Math.min(this.limit.value, this.shared?.expected ?? Number.POSITIVE_INFINITY)
  }

  /** Returns how many slots this replica would use. `queued`: the calls that further slots would start. */
  demandWith(queued: number): number {
    return Math.max(this.taken, Math.min(this.taken + queued, this.#max))
  }
}
