/**
 * What this replica knows of epochs without asking. A look teaches; a raise that arrives unteaches; a look that was on
 * its way when a raise of one of its tags arrived teaches nothing, since nobody can say which of the two Redis did
 * first. It may be used only within the lease, and never while the replica is on its way back from an outage.
 */
import { LRUCache } from 'lru-cache'
import type { Tag } from '../../../catalogue/endpoint.ts'
import type { TagEpochs } from '../../../core/stored-response.ts'

/** Tags of a look that is on its way. */
export interface Watch {
  readonly tags: readonly Tag[]
  touched: boolean
}

const TAGS_KNOWN = 200_000

export class Knowledge {
  readonly #epochs = new LRUCache<Tag, string>({ max: TAGS_KNOWN })
  readonly #watches = new Set<Watch>()
  #generation = ''
  #version = 0

  /** Another number after anything was unlearnt: what was compared at the same number still holds. */
  get version(): number {
    return this.#version
  }

  watch(tags: readonly Tag[]): Watch {
    const watch = { tags, touched: false }
    this.#watches.add(watch)
    return watch
  }

  /** Ends a watch, and learns from it: `epochs` are those of its tags, in their order. Undefined: there was no reply. */
  learn(watch: Watch, seen?: { generation: string; epochs: readonly string[]; fenced: boolean }): void {
    this.#watches.delete(watch)
    if (seen === undefined || watch.touched || seen.fenced) return
    if (seen.generation !== this.#generation) {
      this.#epochs.clear()
      this.#version += 1
      this.#generation = seen.generation
    }
    for (const [at, tag] of watch.tags.entries()) this.#epochs.set(tag, seen.epochs[at] ?? '')
  }

  raised(tags: readonly Tag[]): void {
    this.#version += 1
    for (const tag of tags) this.#epochs.delete(tag)
    if (this.#watches.size === 0) return
    const names = new Set(tags)
    for (const watch of this.#watches) watch.touched ||= watch.tags.some((tag) => names.has(tag))
  }

  forget(): void {
    this.#version += 1
    this.#epochs.clear()
    for (const watch of this.#watches) watch.touched = true
  }

  /** The mark of these tags as far as it is known: undefined as soon as one of them is not. */
  mark(tags: readonly Tag[]): TagEpochs | undefined {
    const epochs: string[] = []
    for (const tag of tags) {
      const epoch = this.#epochs.get(tag)
      if (epoch === undefined) return undefined
      epochs.push(epoch)
    }
    return { generation: this.#generation, epochs, fenced: false }
  }
}
