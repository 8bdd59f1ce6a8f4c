/** JSON body of `POST /api/coherence`: what a check of coherence among the replicas has measured. */
export interface Coherence {
  /** Rounds in which every replica showed the invalidation. */
  readonly rounds: number
  readonly replicas: readonly {
    readonly replica: string
    readonly reads: number
    /** Reads that returned an entry which was invalidated before they began. */
    readonly stale: number
    /** Milliseconds from the acknowledgement of the invalidation to the first read that shows it. Absent: none did. */
    readonly medianDelayMs?: number
    readonly maxDelayMs?: number
  }[]
  /** The names of replicas that did not answer: of an earlier version, without a cache, or cut off from Redis. */
  readonly missing: readonly string[]
  /** Why there are fewer rounds than planned. */
  readonly failure?: string
}
