/** Epochs and fences of one process, for the store without Redis. A fence under way stands; one that was left, for its lease. */
import { randomUUID } from 'node:crypto'
import type { Tag } from '../../catalogue/endpoint.ts'
import type { TagEpochs } from '../../core/stored-response.ts'
import { keyTag, ReadMark, UNRAISED, withOwn } from './marks.ts'

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
