/**
 * The slots of a node: how many calls this process may have in flight on it. Replicas that share a Redis share the limit
 * of each node; without Redis, a process has the whole limit.
 */

/** The slots of one limiter. */
export interface NodeSlots {
  /** Calls that may be in flight here now. */
  readonly usable: number
  /** Slots of the node that other replicas leave free. */
  readonly available: number
  /** Slots to expect over time, for estimates of waiting times; more than 0, possibly a fraction. */
  readonly expected: number
  /**
   * Must be called after each change, before a queued call is started on a slot that became free. `demand`: calls in
   * flight, and queued calls that a further slot would start.
   */
  update(inFlight: number, demand: number): void
  /** Returns the slots to the other replicas. Calls in flight are no longer counted there. */
  close(): Promise<void>
}

/** The slots of all nodes over all replicas. */
export interface SharedSlots {
  /** `limit`: of all replicas together. `onChange`: the number of usable slots may have changed. */
  open(name: string, limit: () => number, onChange: () => void): NodeSlots
}

/** Slots of a process that shares with no other. */
export const ownSlots: SharedSlots = {
  open: (_name, limit) => ({
    get usable() {
      return limit()
    },
    get available() {
      return limit()
    },
    get expected() {
      return limit()
    },
    update: () => undefined,
    close: () => Promise.resolve(),
  }),
}
