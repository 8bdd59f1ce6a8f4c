import { LRUCache } from 'lru-cache'

/** A place in the sequence of invalidations. */
interface Invalidation {
  readonly generation: string
  readonly sequence: number
}

/** More than the replicas that run at the same time. Each start of a process is another replica. */
const MAX_REPLICAS = 1000

/** The last invalidation that each replica acknowledged. It includes all before it: after a gap, replicas discard all. */
export class Acknowledgements {
  readonly #last = new LRUCache<string, Invalidation>({ max: MAX_REPLICAS })
  readonly #listeners = new Set<() => void>()

  add(replica: string, sequence: number, generation: string): void {
    this.#last.set(replica, { generation, sequence })
    for (const listener of [...this.#listeners]) listener()
  }

  /**
   * Resolves with true when all `others` have acknowledged the invalidation, with false when their leases at the time
   * of the invalidation have expired. A later heartbeat cannot extend them: it arrives over the same channel, after
   * the invalidation. `others`: replicas with the milliseconds left of their leases.
   */
  wait(invalidation: Invalidation, others: ReadonlyMap<string, number>): Promise<boolean> {
    const isMissing = () => [...others.keys()].some((replica) => !this.#has(replica, invalidation))
    if (!isMissing()) return Promise.resolve(true)
    return new Promise((resolve) => {
      const end = (isComplete: boolean) => {
        clearTimeout(timer)
        this.#listeners.delete(listener)
        resolve(isComplete)
      }
      const listener = () => {
        if (!isMissing()) end(true)
      }
      const timer = setTimeout(end, Math.max(...others.values()) + 1, false)
      this.#listeners.add(listener)
    })
  }

  #has(replica: string, { generation, sequence }: Invalidation): boolean {
    const last = this.#last.get(replica)
    return last !== undefined && last.generation === generation && last.sequence >= sequence
  }
}
