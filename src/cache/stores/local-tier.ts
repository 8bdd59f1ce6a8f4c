import { LRUCache } from 'lru-cache'
import type { Tag } from '../../catalogue/endpoint.ts'
import type { Lookup, TagEpochs } from '../../core/response.ts'
import { compareMarks, keyTag, ReadMark, withOwn } from './epochs.ts'
import { answerOf, type Held, type HeldEntries } from './local-entries.ts'

/** The near copy: entries of this process, served without asking as long as what is known says that they are valid. */

export interface NearHit {
  readonly held: Held
  readonly mark: TagEpochs
}

/** The last comparison of an entry: it holds as long as nothing was raised since. */
interface Checked {
  readonly version: number
  readonly hit: NearHit
}

export class Near {
  readonly #entries: HeldEntries
  readonly #knowledge: Knowledge
  readonly #checked = new WeakMap<Held, Checked>()

  constructor(entries: HeldEntries, knowledge: Knowledge) {
    this.#entries = entries
    this.#knowledge = knowledge
  }

  /** The entry and the mark that it is valid at; undefined: there is none, or it cannot be said. */
  find(key: string, tags: readonly Tag[], now: number): NearHit | undefined {
    return this.#valid(key, tags, this.#entries.get(key, now))
  }

  /** As `find`, but it counts as no use of the entry. */
  peek(key: string, tags: readonly Tag[], now: number): NearHit | undefined {
    return this.#valid(key, tags, this.#entries.peek(key, now))
  }

  put(key: string, held: Held): void {
    this.#entries.set(key, held)
  }

  drop(key: string): void {
    this.#entries.delete(key)
  }

  get size(): { readonly bytes: number; readonly entries: number } {
    return { bytes: this.#entries.bytes, entries: this.#entries.count }
  }

  clear(): void {
    this.#entries.clear()
  }

  #valid(key: string, tags: readonly Tag[], held: Held | undefined): NearHit | undefined {
    if (held === undefined) return undefined
    const version = this.#knowledge.version
    const checked = this.#checked.get(held)
    if (checked?.version === version && equal(held.tags, tags)) return checked.hit
    const hit = this.#check(key, tags, held)
    if (hit !== undefined) this.#checked.set(held, { version, hit })
    return hit
  }

  #check(key: string, tags: readonly Tag[], held: Held): NearHit | undefined {
    const mark = markOf(key, tags, this.#knowledge)
    if (mark === undefined || !equal(held.tags, tags)) return undefined
    // After a soft drop, Redis may hold a newer one.
    return compareMarks(held, mark) === 'same' ? { held, mark } : undefined
  }
}

export function nearLook({ held, mark }: NearHit, now: number): Lookup {
  return { kind: 'hit', epochs: new ReadMark(mark, now), response: answerOf(held, now, false), isLocal: true }
}

/** The mark of an entry's tags as far as it is known without asking. */
export function markOf(key: string, tags: readonly Tag[], knowledge: Knowledge): TagEpochs | undefined {
  const known = knowledge.mark([...tags, keyTag(key)])
  return known === undefined ? undefined : withOwn(known)
}

function equal(some: readonly Tag[], others: readonly Tag[]): boolean {
  if (some === others) return true
  if (some.length !== others.length) return false
  for (let at = 0; at < some.length; at += 1) if (some[at] !== others[at]) return false
  return true
}

/**
 * What this replica knows of epochs without asking. A look teaches; a raise that arrives unteaches; a look that was on
 * its way when a raise of one of its tags arrived teaches nothing, since nobody can say which of the two Redis did
 * first. It may be used only within the lease, and never while the replica is on its way back from an outage.
 */

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
