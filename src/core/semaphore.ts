/** A wait for a slot. `leave`: to be called if the slot is no longer wanted, also if it was taken at the same moment. */
interface SlotWait {
  readonly taken: Promise<undefined>
  leave(): void
}

/** Limits work at once. What is beyond the limit waits in lanes: the first lane first, each in the order of arrival. */
export class Semaphore {
  readonly #limit: () => number
  readonly #lanes: readonly (() => void)[][]
  #taken = 0

  /** `limit`: read for each slot. */
  constructor(limit: () => number, lanes = 1) {
    this.#limit = limit
    this.#lanes = Array.from({ length: lanes }, () => [])
  }

  get isFree(): boolean {
    return this.#taken < this.#limit()
  }

  /** Whether no slot is taken. */
  get isIdle(): boolean {
    return this.#taken === 0
  }

  /** How many wait in a lane. */
  waiting(lane = 0): number {
    return this.#lanes[lane]?.length ?? 0
  }

  /** Takes a slot. Returns `undefined` if one is free. The caller must release the slot. */
  take(lane = 0): SlotWait | undefined {
    if (this.isFree) {
      this.#taken += 1
      return undefined
    }
    const queue = this.#lanes[lane] ?? []
    let start: () => void = () => undefined
    const taken = new Promise<undefined>((resolve) => {
      start = () => resolve(undefined)
    })
    queue.push(start)
    const leave = () => {
      const at = queue.indexOf(start)
      if (at >= 0) queue.splice(at, 1)
      else this.release()
    }
    return { taken, leave }
  }

  /** Passes the slot on to the next waiting caller, before a new caller can take it. */
  release(): void {
    this.#taken -= 1
    this.admit()
  }

  /** Gives slots to waiting callers, as many as the limit permits now. To be called when the limit rises. */
  admit(): void {
    while (this.isFree) {
      const next = this.#lanes.find(({ length }) => length > 0)?.shift()
      if (next === undefined) return
      this.#taken += 1
      next()
    }
  }
}
