/** Which raise each replica has seen. A raise that was seen implies all before it: gaps make a replica forget all. */
import { LRUCache } from 'lru-cache'

interface Seen {
  readonly generation: string
  readonly sequence: number
}

export class Acknowledgements {
  /** More replicas than ever stand at once; each start of a process is another one. */
  readonly #seen = new LRUCache<string, Seen>({ max: 1000 })
  readonly #listeners = new Set<() => void>()

  add(replica: string, sequence: number, generation: string): void {
    this.#seen.set(replica, { generation, sequence })
    for (const listener of [...this.#listeners]) listener()
  }

  /**
   * Resolves when all of `others` have seen the raise, or when their registrations, as they stood when it was made,
   * have run out: a heartbeat that would renew one passes through the same channel after the raise. True: all have.
   * `others`: replicas and the milliseconds left to them.
   */
  wait(raise: Seen, others: ReadonlyMap<string, number>): Promise<boolean> {
    const missing = () => [...others.keys()].some((replica) => !this.#has(replica, raise))
    if (!missing()) return Promise.resolve(true)
    return new Promise((resolve) => {
      const end = (heard: boolean) => {
        clearTimeout(timer)
        this.#listeners.delete(listener)
        resolve(heard)
      }
      const listener = () => {
        if (!missing()) end(true)
      }
      const timer = setTimeout(end, Math.max(...others.values()) + 1, false)
      this.#listeners.add(listener)
    })
  }

  #has(replica: string, { generation, sequence }: Seen): boolean {
    const seen = this.#seen.get(replica)
    return seen !== undefined && seen.generation === generation && seen.sequence >= sequence
  }
}
