/** Is Redis there, and since when may it be trusted? Nothing is served of it, or of what was known by it, before. */
import type { OnEvent, Times } from './options.ts'

export interface TrustOptions {
  readonly times: Times
  readonly elapsed: () => number
  readonly onEvent: OnEvent
  /** The store lost its memory: so must this process, as far as it came from there. */
  readonly onLostMemory: () => void
}

export class Trust {
  readonly #options: TrustOptions
  #up = false
  #lostAt: number | undefined
  #losses = 0
  #from = 0
  #generation: string | undefined

  constructor(options: TrustOptions) {
    this.#options = options
  }

  /** Redis answers, and everything that was owed to it is written. */
  get up(): boolean {
    return this.#up
  }

  /** When Redis was found to be away; undefined: it is there. */
  get lostAt(): number | undefined {
    return this.#lostAt
  }

  /** Has every replica that was cut off with this one had time to say what it wrote? */
  settled(now: number): boolean {
    return now >= this.#from
  }

  /**
   * Any reply names the generation; false when it is another one than before. Fences and registrations went with the
   * old one: until every replica has set its own again, at its next heartbeat, nothing is served and nothing kept.
   */
  saw(generation: string): boolean {
    const { elapsed, times, onLostMemory } = this.#options
    const changed = this.#generation !== undefined && this.#generation !== generation
    this.#generation = generation
    if (!changed) return true
    this.#from = Math.max(this.#from, elapsed() + times.lease)
    onLostMemory()
    return false
  }

  lose(reason?: string): void {
    this.#losses += 1
    if (this.#lostAt === undefined) this.#options.onEvent('lost', reason)
    this.#up = false
    this.#lostAt ??= this.#options.elapsed()
  }

  /**
   * Redis is there again, once `restore` has written what this replica owes. Others may have acknowledged writes that
   * they could not write down: they get one lease to do so. Whoever never missed Redis since its start has nothing to
   * wait for.
   */
  async regain(restore: () => Promise<boolean>): Promise<void> {
    const { elapsed, times, onEvent } = this.#options
    const losses = this.#losses
    // What came to be owed meanwhile is not written yet.
    if (!(await restore()) || this.#losses !== losses) return
    if (this.#lostAt !== undefined) {
      this.#from = elapsed() + times.lease
      onEvent('returned')
    }
    this.#up = true
    this.#lostAt = undefined
  }
}
