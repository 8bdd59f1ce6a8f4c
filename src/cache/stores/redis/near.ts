/** The near copy: entries of this process, served without asking as long as what is known says that they are valid. */
import type { Tag } from '../../../catalogue/endpoint.ts'
import type { Lookup, TagEpochs } from '../../../core/stored-response.ts'
import { answerOf, type Held, type HeldEntries } from '../held.ts'
import { compareMarks, keyTag, ReadMark, withOwn } from '../marks.ts'
import type { Knowledge } from './knowledge.ts'

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
