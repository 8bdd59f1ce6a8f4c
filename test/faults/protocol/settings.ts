/** What is explored: how many replicas and writes there are, what can happen, and which part of the protocol is left out. */

/** Parts of the protocol that can be left out. */
export const weakenings = [
  'epochs are incremented, but no fence is set',
  'a write invalidates nothing',
  'epochs are incremented after the write only',
  'a stored response is served whatever its epochs are',
  'a read joins a fetch that began with other epochs',
  'the cache of the node is used',
  'a writer does not wait for acknowledgements',
  'a writer waits for acknowledgements before the 2xx only',
  'the local tier is served without a lease',
  'a response is stored locally in spite of an invalidation since its lookup',
  'a write with an unknown outcome removes its fence',
  'after a loss of data, Redis is used at once',
  'after a loss of data, writers wait for registered replicas only',
  'a writer without a reply takes Redis for lost and acknowledges',
  'a writer without a reply forwards its write',
] as const
export type Weakening = (typeof weakenings)[number]

export interface Setting {
  readonly replicas: number
  readonly writers: number
  /** Reads at the same time; default 2, of which one can join the fetch of the other. */
  readonly reads?: number
  /** Replicas have a local tier, with a lease. */
  readonly local?: boolean
  /** Commands of writers and their replies are messages, which take any time and may be lost. */
  readonly links?: boolean
  /** Redis may lose its data once. */
  readonly loss?: boolean
  /**
   * With `loss`: a reply may be on its way for longer than the lease that replicas wait afterwards. Then a read may return
   * less than another read before it, until the write in progress is acknowledged, but never less than an acknowledged
   * value.
   */
  readonly slowReplies?: boolean
  readonly without?: readonly Weakening[]
}

/** Whether a part of the protocol is left out. */
export function lacks({ without = [] }: Setting, weakening: Weakening): boolean {
  return without.includes(weakening)
}

/** Returns the smallest setting in which leaving out this part breaks the invariant. */
export function weakest(weakening: Weakening): Setting {
  const links = weakening.includes('without a reply')
  const loss = weakening.includes('loss of data')
  return { replicas: 2, writers: 1, links, loss, without: [weakening] }
}
