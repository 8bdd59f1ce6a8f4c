/** The rounds of a check of coherence: one write through one replica, then reads through all of them. */

/** What a read of the written value returned. */
export interface CoherenceRead {
  /** A text that each write changes. Absent: the value does not exist. */
  readonly value?: string
  /** As the header `Cache-Status`. */
  readonly cacheStatus: string
  /** Absent: the read was no request. */
  readonly requestId?: string
}

/** Reads and writes through one replica. Several may have one name: a balancer chooses a replica for each. */
export interface CoherenceClient {
  readonly replica: string
  read(): Promise<CoherenceRead>
  /** `round`: number of the write; 0 creates the value. */
  write(round: number): Promise<void>
}

/**
 * The first stale response of a replica in a round: it lacks a write that was acknowledged before the request was sent.
 */
export interface StaleRead {
  /** Number of the latest write, from 1; 0: the creation. */
  readonly round: number
  readonly replica: string
  readonly writtenThrough: string
  /** Time between the acknowledgement and the response. */
  readonly afterMs: number
  readonly requestId?: string
  readonly cacheStatus: string
}

interface ReplicaReads {
  readonly replica: string
  reads: number
  stale: number
  /** For each round: milliseconds from the acknowledgement of the write to the first response that shows it. */
  readonly delays: number[]
}

export interface CoherenceResult {
  /** Rounds in which every replica showed the write. */
  rounds: number
  readonly replicas: readonly ReplicaReads[]
  readonly staleReads: StaleRead[]
}

export interface ReplicaDelays extends Omit<ReplicaReads, 'delays'> {
  /** Milliseconds. Absent: the replica showed no write. */
  readonly medianDelayMs?: number
  readonly maxDelayMs?: number
}

export function summarizeReads({ delays, ...counts }: ReplicaReads): ReplicaDelays {
  const sorted = delays.map((delay) => Math.round(delay * 10) / 10).sort((a, b) => a - b)
  const [median, max] = [sorted[Math.floor((sorted.length - 1) / 2)], sorted.at(-1)]
  return median === undefined || max === undefined ? counts : { ...counts, medianDelayMs: median, maxDelayMs: max }
}

export interface RoundsOptions {
  readonly clients: readonly CoherenceClient[]
  readonly rounds: number
  /** Rejects when the rounds are to stop. */
  readonly sleep: (ms: number) => Promise<unknown>
  readonly onRound?: (round: number) => void
  /** What to do if a replica does not answer from its cache. */
  readonly remedy: string
}

/** A stored response expires within this time, unless its TTL is longer. */
const SHOW_LIMIT_MS = 30_000
const PRIME_LIMIT_MS = 10_000
/** After this time, a stored response with less than one second left is accepted: the TTL may be that short. */
const LONG_HIT_LIMIT_MS = 3000
const READ_INTERVAL_MS = 20
/** Reads of each client after each write. */
const MIN_READS = 5

export function createResult(clients: readonly CoherenceClient[]): CoherenceResult {
  const names = [...new Set(clients.map(({ replica }) => replica))]
  return { rounds: 0, replicas: names.map((replica) => ({ replica, reads: 0, stale: 0, delays: [] })), staleReads: [] }
}

/** Reads through the clients, and counts the responses that lack the latest write. */
class CountedReads {
  /** Values before the latest write. A response with one of them is stale. */
  readonly superseded = new Set<string | undefined>([undefined])
  /** The latest write. `at`: its acknowledgement, in monotonic milliseconds. */
  latest: { readonly round: number; readonly replica: string; readonly at: number }
  readonly #result: CoherenceResult

  constructor(result: CoherenceResult, creator: string) {
    this.#result = result
    this.latest = { round: 0, replica: creator, at: 0 }
  }

  async read(client: CoherenceClient): Promise<CoherenceRead & { readonly isStale: boolean }> {
    const response = await client.read()
    const { replica } = client
    const isStale = this.superseded.has(response.value)
    const { replicas, staleReads } = this.#result
    const counts = replicas.find((each) => each.replica === replica)
    if (counts !== undefined) {
      counts.reads += 1
      counts.stale += isStale ? 1 : 0
    }
    const { round, replica: writtenThrough, at } = this.latest
    const isKnown = staleReads.some((each) => each.round === round && each.replica === replica)
    if (isStale && !isKnown) {
      const { requestId, cacheStatus } = response
      const id = requestId === undefined ? {} : { requestId }
      const afterMs = Math.round(performance.now() - at)
      staleReads.push({ round, replica, writtenThrough, afterMs, ...id, cacheStatus })
    }
    return { ...response, isStale }
  }
}

/** Adds to `result` after each read. Stops after a round in which a replica did not show the write. */
export async function runRounds(options: RoundsOptions, result: CoherenceResult): Promise<void> {
  const { clients, rounds, sleep, onRound, remedy } = options
  const [creator] = clients
  if (creator === undefined) return
  const reads = new CountedReads(result, creator.replica)
  const read = (client: CoherenceClient) => reads.read(client)

  const forAll = async <Value>(use: (client: CoherenceClient) => Promise<Value>): Promise<readonly Value[]> => {
    const all = await Promise.allSettled(clients.map(use))
    return all.map((each) => {
      if (each.status === 'rejected') throw each.reason
      return each.value
    })
  }

  /** Reads until all clients get the latest state from the cache in one turn. Then each replica has it stored. */
  const prime = async (): Promise<void> => {
    const startedAt = performance.now()
    for (;;) {
      const responses = await forAll(read)
      const waited = performance.now() - startedAt
      const isLongHit = (cacheStatus: string): boolean =>
        /;\s*hit\b/.test(cacheStatus) && (waited > LONG_HIT_LIMIT_MS || /\bttl=[1-9]/.test(cacheStatus))
      const missed = responses.findIndex(({ isStale, cacheStatus }) => isStale || !isLongHit(cacheStatus))
      if (missed < 0) return responses.forEach(({ value }) => void reads.superseded.add(value))
      if (waited > PRIME_LIMIT_MS) {
        const reason = `${clients[missed]?.replica} does not answer from its cache`
        const status = `Cache-Status: ${responses[missed]?.cacheStatus}`
        throw new Error(`${reason} (${status}); ${remedy}`)
      }
      await sleep(READ_INTERVAL_MS)
    }
  }

  /** Reads at least `MIN_READS` times and until the latest write shows. Resolves to whether it does. */
  const readUntilShown = async (client: CoherenceClient): Promise<boolean> => {
    let isShown = false
    for (let count = 0; count < MIN_READS || !isShown; count++) {
      const { isStale } = await read(client)
      const waited = performance.now() - reads.latest.at
      if (!isStale && !isShown) {
        isShown = true
        result.replicas.find(({ replica }) => replica === client.replica)?.delays.push(waited)
      }
      if (!isShown && waited > SHOW_LIMIT_MS) return false
      await sleep(READ_INTERVAL_MS)
    }
    return true
  }

  await creator.write(0)
  reads.latest = { ...reads.latest, at: performance.now() }
  for (let round = 1; round <= rounds; round++) {
    onRound?.(round)
    await prime()
    const writer = clients[(round - 1) % clients.length] ?? creator
    await writer.write(round)
    reads.latest = { round, replica: writer.replica, at: performance.now() }
    const isShown = await forAll(readUntilShown)
    if (isShown.includes(false)) return
    result.rounds = round
  }
}
