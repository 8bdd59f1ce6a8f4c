/** What must be written to Redis and could not be: raises, and fences to be lifted. Bounded: too many become one. */
import type { Tag } from '../../../catalogue/endpoint.ts'

/** Beyond so many tags, everything is raised instead. */
const MOST = 10_000

export interface Debt {
  readonly raise: readonly Tag[]
  /** Fences by id, and the tags that they stand on. */
  readonly lifts: ReadonlyMap<string, readonly Tag[]>
}

export class Debts {
  #raise = new Set<Tag>()
  #lifts = new Map<string, readonly Tag[]>()

  add(raise: Iterable<Tag>, lifts: Iterable<readonly [string, readonly Tag[]]> = []): void {
    for (const tag of raise) this.#raise.add(tag)
    if (this.#raise.size > MOST) this.#raise = new Set(['cache'])
    for (const [id, tags] of lifts) this.#lifts.set(id, tags)
    // The oldest fences are left to their own leases.
    for (const id of this.#lifts.keys()) if (this.#lifts.size > MOST) this.#lifts.delete(id)
  }

  /** All of it; whoever cannot write it adds it again. */
  take(): Debt {
    const debt = { raise: [...this.#raise], lifts: this.#lifts }
    this.#raise = new Set()
    this.#lifts = new Map()
    return debt
  }
}
