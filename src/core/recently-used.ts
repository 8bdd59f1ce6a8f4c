/** What was found out lately, by a text. Bounded in number; what was not asked for lately is forgotten. */
export class RecentlyUsed<Found> {
  readonly #greatest: number
  #young = new Map<string, Found>()
  #old = new Map<string, Found>()

  /** `greatest`: how many are remembered in each of two generations. */
  constructor(greatest: number) {
    this.#greatest = greatest
  }

  find(text: string): Found | undefined {
    const found = this.#young.get(text)
    if (found !== undefined) return found
    const old = this.#old.get(text)
    if (old !== undefined) this.learn(text, old)
    return old
  }

  learn(text: string, found: Found): void {
    if (this.#young.size >= this.#greatest) {
      this.#old = this.#young
      this.#young = new Map()
    }
    this.#young.set(text, found)
  }

  forget(text: string): void {
    this.#young.delete(text)
    this.#old.delete(text)
  }
}
