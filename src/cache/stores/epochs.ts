import { randomUUID } from 'node:crypto'
import type { Tag } from '../../catalogue/endpoint.ts'
import type { TagEpochs } from '../../core/response.ts'

/**
 * Marks compared. The epoch of a tag is the text `writes~softDrops`; that of the entry's own key, which only a drop of
 * this key raises, is joined to the first one by a slash.
 */

/** What a tag reads as that nobody has raised in this generation. */
export const UNRAISED = '0~0'

/** `softened`: only soft drops lie between the two, so that the entry is stale but not wrong. */
export type Difference = 'same' | 'softened' | 'changed'

export function compareMarks(kept: Pick<TagEpochs, 'generation' | 'epochs'>, now: TagEpochs): Difference {
  if (now.fenced || kept.generation !== now.generation || kept.epochs.length !== now.epochs.length) return 'changed'
  let difference: Difference = 'same'
  for (let at = 0; at < now.epochs.length; at += 1) {
    const before = kept.epochs[at]
    const after = now.epochs[at]
    if (before === after) continue
    if (before === undefined || after === undefined || written(before) !== written(after)) return 'changed'
    difference = 'softened'
  }
  return difference
}

/** Only the parts that hard raises count. */
function written(epoch: string): string {
  return epoch.replaceAll(/~\d+/g, '')
}

/** A mark whose last epoch is that of the entry's own key: joined to the first, so that one stands for each tag. */
export function withOwn({ generation, epochs, fenced }: TagEpochs): TagEpochs {
  const own = epochs.at(-1)
  return { generation, epochs: epochs.slice(0, -1).map((epoch, at) => (at === 0 ? `${epoch}/${own}` : epoch)), fenced }
}

/** A mark that knows when it was read: the fill that it begins is as old as that. */
export class ReadMark implements TagEpochs {
  readonly generation: string
  readonly epochs: readonly string[]
  readonly fenced: boolean
  readonly #at: number

  constructor({ generation, epochs, fenced }: TagEpochs, at: number) {
    this.generation = generation
    this.epochs = epochs
    this.fenced = fenced
    this.#at = at
  }

  static at(mark: TagEpochs): number | undefined {
    return #at in mark ? mark.#at : undefined
  }
}

/** When the fill of this mark began, by the store's clock; undefined for a mark that the store did not make. */
export function begun(mark: TagEpochs): number | undefined {
  return ReadMark.at(mark)
}

/** The tag of one entry alone. */
export function keyTag(key: string): string {
  return `key:${key}`
}

/** Epochs and fences of one process, for the store without Redis. A fence under way stands; one that was left, for its lease. */

interface Epoch {
  writes: number
  soft: number
  text: string
}

export class Standing {
  readonly #generation = randomUUID()
  readonly #epochs = new Map<Tag, Epoch>()
  /** For each tag its fences, and until when each stands. */
  readonly #fences = new Map<Tag, Map<symbol, number>>()
  readonly #elapsed: () => number

  constructor(elapsed: () => number) {
    this.#elapsed = elapsed
  }

  mark(key: string, tags: readonly Tag[]): TagEpochs {
    const epochs = [...tags, keyTag(key)].map((tag) => this.#text(tag))
    const fenced = tags.some((tag) => this.#fenced(tag))
    return new ReadMark(withOwn({ generation: this.#generation, epochs, fenced }), this.#elapsed())
  }

  raise(tags: readonly Tag[], soft = false): void {
    for (const tag of new Set(tags)) {
      const before = this.#epochs.get(tag) ?? { writes: 0, soft: 0 }
      const after = { writes: before.writes + (soft ? 0 : 1), soft: before.soft + (soft ? 1 : 0) }
      this.#epochs.set(tag, { ...after, text: `${after.writes}~${after.soft}` })
    }
  }

  /** `lease`: milliseconds from now; Infinity while the write is under way. */
  fence(fence: symbol, tags: readonly Tag[], lease: number): void {
    const until = this.#elapsed() + lease
    for (const tag of tags) {
      const fences = this.#fences.get(tag) ?? new Map<symbol, number>()
      this.#fences.set(tag, fences.set(fence, until))
    }
  }

  lift(fence: symbol, tags: readonly Tag[]): void {
    for (const tag of tags) {
      const fences = this.#fences.get(tag)
      fences?.delete(fence)
      if (fences?.size === 0) this.#fences.delete(tag)
    }
  }

  #text(tag: Tag): string {
    return this.#epochs.get(tag)?.text ?? UNRAISED
  }

  #fenced(tag: Tag): boolean {
    const fences = this.#fences.get(tag)
    if (fences === undefined) return false
    for (const [fence, until] of [...fences]) if (until <= this.#elapsed()) fences.delete(fence)
    if (fences.size === 0) this.#fences.delete(tag)
    return fences.size > 0
  }
}
