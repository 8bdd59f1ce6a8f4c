/**
 * Short steps that wait for the end of their turn of the event loop: they run together, in their order, and those beyond a
 * number in later turns. An error of a step ends its turn; the others run in the next one. For longer work see turns.ts.
 */
export class TurnQueue<T> {
  readonly #stepsPerTurn: number
  readonly #run: (step: T) => void
  readonly #steps: T[] = []
  #isScheduled = false

  constructor(stepsPerTurn: number, run: (step: T) => void) {
    this.#stepsPerTurn = stepsPerTurn
    this.#run = run
  }

  get isEmpty(): boolean {
    return this.#steps.length === 0
  }

  add(step: T): void {
    this.#steps.push(step)
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(this.#runSome)
  }

  readonly #runSome = (): void => {
    let left = Math.min(this.#steps.length, this.#stepsPerTurn)
    try {
      for (; left > 0; left -= 1) this.#run(this.#steps.shift() as T)
    } finally {
      this.#isScheduled = this.#steps.length > 0
      if (this.#isScheduled) setImmediate(this.#runSome)
    }
  }
}
