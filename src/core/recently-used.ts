import { LRUCache } from 'lru-cache'

/**
 * The number of URLs, and of callers, that a replica remembers in each of two generations. Up to this number, each hit costs
 * the same. When twice as many are requested in turn, all of them are prepared again.
 */
export const MAX_IN_USE = 10_000

/**
 * A map that forgets the entries that were not used recently, at a lower cost per hit than a least-recently-used list:
 * two generations of at most `maxPerGeneration` entries; the older one is dropped when the younger one is full.
 */
export class RecentlyUsed<Value> {
  readonly #maxPerGeneration: number
  #young = new Map<string, Value>()
  #old = new Map<string, Value>()

  constructor(maxPerGeneration: number) {
    this.#maxPerGeneration = maxPerGeneration
  }

  get(key: string): Value | undefined {
    const young = this.#young.get(key)
    if (young !== undefined) return young
    const old = this.#old.get(key)
    if (old !== undefined) this.set(key, old)
    return old
  }

  /** Returns the value of the key. If there is none, creates it and stores it. */
  getOrCreate(key: string, create: (key: string) => Value): Value {
    const known = this.get(key)
    if (known !== undefined) return known
    const created = create(key)
    this.set(key, created)
    return created
  }

  set(key: string, value: Value): void {
    if (this.#young.size >= this.#maxPerGeneration) this.beginGeneration()
    this.#young.set(key, value)
  }

  /** Drops the entries that were not used since the last call. */
  beginGeneration(): void {
    this.#old = this.#young
    this.#young = new Map()
  }

  delete(key: string): void {
    this.#young.delete(key)
    this.#old.delete(key)
  }
}

/**
 * Returns an LRU map of at most `maxEntries` whose memory grows with its entries. The option `max` of lru-cache allocates all
 * places at once: at a start, these would be some 300,000 in eight maps. `dispose`: called with a value that leaves the map.
 */
export function growingLru<Key extends object | string | number, Value extends object | string | number | boolean>(
  maxEntries: number,
  dispose?: (value: Value) => void,
): LRUCache<Key, Value> {
  return new LRUCache({ maxSize: maxEntries, sizeCalculation: () => 1, ...(dispose && { dispose }) })
}
