/**
 * Short steps that wait for the end of their turn of the event loop: they run together, in their order, and those beyond a
 * number in later turns. For longer work see turns.ts.
 */
export class TurnQueue<T> {
  readonly #stepsPerTurn: number
  readonly #run: (steps: readonly T[]) => void
  #steps: T[] = []

  constructor(stepsPerTurn: number, run: (steps: readonly T[]) => void) {
    this.#stepsPerTurn = stepsPerTurn
    this.#run = run
  }

  get isEmpty(): boolean {
    return this.#steps.length === 0
  }

  add(step: T): void {
    if (this.#steps.push(step) === 1) setImmediate(this.#runSome)
  }

  readonly #runSome = (): void => {
    const steps = this.#steps
    this.#steps = steps.splice(this.#stepsPerTurn)
    if (this.#steps.length > 0) setImmediate(this.#runSome)
    this.#run(steps)
  }
}
