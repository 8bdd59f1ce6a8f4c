/** The epochs and write fences of a process without Redis. */

import { randomUUID } from 'node:crypto'
import type { Tag } from '../../contracts/endpoint.ts'
import type { TagEpochs } from '../../core/stored-response.ts'
import { INITIAL_EPOCH, keyTag } from './epochs.ts'

interface Epoch {
  writes: number
  soft: number
  text: string
}

export class EpochTable {
  readonly #generation = randomUUID()
  readonly #epochs = new Map<Tag, Epoch>()
  /** The fences of each tag, with the time at which each expires. */
  readonly #fences = new Map<Tag, Map<symbol, number>>()
  readonly #elapsed: () => number
  #version = 0

  constructor(elapsed: () => number) {
    this.#elapsed = elapsed
  }

  /** Changes with every epoch and every new fence. A comparison that found epochs equal is valid as long as it is the same. */
  get version(): number {
    return this.#version
  }

  of(key: string, tags: readonly Tag[]): TagEpochs {
    const epochs: string[] = []
    let fenced = false
    for (const tag of tags) {
      const epoch = this.#epochs.get(tag)?.text ?? INITIAL_EPOCH
      epochs.push(epochs.length === 0 ? `${epoch}/${this.#epochs.get(keyTag(key))?.text ?? INITIAL_EPOCH}` : epoch)
      if (this.#fences.size > 0) fenced ||= this.#isFenced(tag)
    }
    return { generation: this.#generation, epochs, fenced, readAt: this.#elapsed() }
  }

  readonly peekOf = this.of

  bump(tags: readonly Tag[], soft = false): void {
    this.#version += 1
    for (const tag of new Set(tags)) {
      const before = this.#epochs.get(tag) ?? { writes: 0, soft: 0 }
      const after = { writes: before.writes + (soft ? 0 : 1), soft: before.soft + (soft ? 1 : 0) }
      this.#epochs.set(tag, { ...after, text: `${after.writes}~${after.soft}` })
    }
  }

  /** `lease`: milliseconds from now; Infinity while the write is in progress. */
  addFence(fence: symbol, tags: readonly Tag[], lease: number): void {
    const expiresAt = this.#elapsed() + lease
    this.#version += 1
    for (const tag of tags) this.#fences.set(tag, (this.#fences.get(tag) ?? new Map()).set(fence, expiresAt))
  }

  removeFence(fence: symbol, tags: readonly Tag[]): void {
    for (const tag of tags) {
      const fences = this.#fences.get(tag)
      fences?.delete(fence)
      if (fences?.size === 0) this.#fences.delete(tag)
    }
  }

  #isFenced(tag: Tag): boolean {
    const fences = this.#fences.get(tag)
    if (fences === undefined) return false
    for (const [fence, expiresAt] of [...fences]) if (expiresAt <= this.#elapsed()) fences.delete(fence)
    if (fences.size === 0) this.#fences.delete(tag)
    return fences.size > 0
  }
}
