/** Work that takes a core: at most so many at once, at most so many waiting, and those known to be right first. */
export interface BoundedQueueOptions {
  readonly atOnce: number
  /** For each of the two lanes. */
  readonly waiting: number
}

export class BoundedQueue {
  readonly #options: BoundedQueueOptions
  readonly #first: (() => void)[] = []
  readonly #others: (() => void)[] = []
  #running = 0

  constructor(options: BoundedQueueOptions) {
    this.#options = options
  }

  /** The job's own outcome, or `undefined` at once when its lane is full. Each lane has its own room: strangers cannot fill that of the known. */
  run<T>(job: () => Promise<T>, first: boolean): Promise<T> | undefined {
    const lane = first ? this.#first : this.#others
    if (this.#running < this.#options.atOnce) {
      this.#running++
      return this.#work(job)
    }
    if (lane.length >= this.#options.waiting) return undefined
    return new Promise<void>((go) => lane.push(go)).then(() => this.#work(job))
  }

  /** Hands its place to the next in line: given back and taken again, a newcomer could slip in between. */
  async #work<T>(job: () => Promise<T>): Promise<T> {
    try {
      return await job()
    } finally {
      const next = this.#first.shift() ?? this.#others.shift()
      if (next === undefined) this.#running--
      else next()
    }
  }
}
