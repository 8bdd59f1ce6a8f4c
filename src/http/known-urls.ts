/**
 * URLs that were validated once, by their raw text: what validation makes of a URL depends on nothing else, so a later
 * request for it need not be routed and validated again. Bounded; what was not asked for lately is forgotten.
 */
import type { Validated } from './ask.ts'

/** In each of two generations. */
const GREATEST_NUMBER = 5000
/** Longer ones are rare, and would make the bound in numbers one of nothing. */
const LONGEST = 512

export class KnownUrls {
  #recent = new Map<string, Validated>()
  #older = new Map<string, Validated>()

  find(url: string): Validated | undefined {
    const found = this.#recent.get(url)
    if (found !== undefined) return found
    const older = this.#older.get(url)
    if (older !== undefined) this.learn(url, older)
    return older
  }

  learn(url: string, validated: Validated): void {
    if (url.length > LONGEST) return
    if (this.#recent.size >= GREATEST_NUMBER) {
      this.#older = this.#recent
      this.#recent = new Map()
    }
    this.#recent.set(url, validated)
  }
}
