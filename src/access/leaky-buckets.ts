/**
 * Failures that fade: each key has a level that a failure raises by one and that time lowers. From `limit` on, each
 * further failure blocks the key twice as long, never longer than `longest`: a back-off, not a lock.
 */
import { LRUCache } from 'lru-cache'

export interface BucketOptions {
  /** Asked at each failure, since it may change. */
  limit(): number
  /** Milliseconds in which one failure fades. */
  readonly fade: number
  /** Milliseconds: the first block, and the longest. */
  readonly first: number
  readonly longest: number
  readonly keys: number
  elapsed(): number
}

interface Bucket {
  level: number
  at: number
  until: number
}

export class LeakyBuckets {
  readonly #options: BucketOptions
  readonly #buckets: LRUCache<string, Bucket>

  constructor(options: BucketOptions) {
    this.#options = options
    this.#buckets = new LRUCache({ max: options.keys })
  }

  /** Milliseconds for which the key is blocked; 0 when it is not. */
  blocked(key: string): number {
    const bucket = this.#buckets.get(key)
    return bucket === undefined ? 0 : Math.max(0, bucket.until - this.#options.elapsed())
  }

  /** Counts one, and gives by how many the key is over its limit (0: not). */
  add(key: string): number {
    const { limit, first, longest, elapsed } = this.#options
    const now = elapsed()
    const bucket = { level: this.#level(key, now) + 1, at: now, until: this.#buckets.get(key)?.until ?? 0 }
    // Rounded: what fades between two attempts of one burst must not buy a further one.
    const over = Math.round(bucket.level) - limit()
    if (over >= 0) bucket.until = now + Math.min(longest, first * 2 ** Math.min(over, 40))
    this.#buckets.set(key, bucket)
    return Math.max(0, over)
  }

  /** Takes one back; a key that is under its limit again is free at once. */
  takeBack(key: string): void {
    const bucket = this.#buckets.get(key)
    if (bucket === undefined) return
    const now = this.#options.elapsed()
    bucket.level = Math.max(0, this.#level(key, now) - 1)
    bucket.at = now
    if (Math.round(bucket.level) < this.#options.limit()) bucket.until = 0
  }

  forget(key: string): void {
    this.#buckets.delete(key)
  }

  #level(key: string, now: number): number {
    const bucket = this.#buckets.get(key)
    return bucket === undefined ? 0 : Math.max(0, bucket.level - (now - bucket.at) / this.#options.fade)
  }
}
