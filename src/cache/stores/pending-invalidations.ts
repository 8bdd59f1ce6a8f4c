import type { Tag } from '../../catalogue/endpoint.ts'

/** Beyond this many tags, everything is invalidated instead. */
const MAX_TAGS = 10_000
const MAX_LIFTS = 10_000

/** Invalidations that could not be sent, and fences that could not be removed. Bounded in size. */
export class PendingInvalidations {
  #bump = new Set<Tag>()
  #lifts = new Map<string, readonly Tag[]>()

  /** `lifts`: fences by id, with their tags. */
  add(bump: Iterable<Tag>, lifts: Iterable<readonly [string, readonly Tag[]]> = []): void {
    for (const tag of bump) this.#bump.add(tag)
    if (this.#bump.size > MAX_TAGS) this.#bump = new Set(['cache'])
    for (const [id, tags] of lifts) this.#lifts.set(id, tags)
    // The oldest fences expire with their leases.
    for (const id of this.#lifts.keys()) if (this.#lifts.size > MAX_LIFTS) this.#lifts.delete(id)
  }

  /** Removes and returns all of it. The caller adds what it could not send again. */
  take(): { readonly bump: readonly Tag[]; readonly lifts: ReadonlyMap<string, readonly Tag[]> } {
    const pending = { bump: [...this.#bump], lifts: this.#lifts }
    this.#bump = new Set()
    this.#lifts = new Map()
    return pending
  }
}
