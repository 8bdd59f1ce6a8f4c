/** The rounds of `manager-edge verify-coherence`: one write through one replica, then reads through all of them. */
import type { CoherenceGroup, ListedGroup } from './coherence-group.ts'
import type { EdgeClient } from './edge-client.ts'
import { CommandError } from './terminal.ts'

/**
 * The first stale response of a replica in a round: it lacks a write that was acknowledged before the request was sent.
 */
export interface StaleRead {
  /** Number of the latest write, from 1; 0: the creation of the group. */
  readonly round: number
  readonly url: string
  readonly writtenThrough: string
  /** Time between the acknowledgement and the response. */
  readonly afterMs: number
  readonly requestId?: string
  readonly cacheStatus: string
}

export interface ReplicaReads {
  readonly url: string
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

export interface RoundsOptions {
  /** Several clients may have one URL: a balancer chooses a replica for each. */
  readonly clients: readonly EdgeClient[]
  readonly group: CoherenceGroup
  readonly rounds: number
  /** Rejects when the rounds are to stop. */
  readonly sleep: (ms: number) => Promise<unknown>
  readonly onRound: (round: number) => void
}

/** A stored response expires within this time, unless its TTL is longer. */
const SHOW_LIMIT_MS = 30_000
const PRIME_LIMIT_MS = 10_000
/** After this time, a stored response with less than one second left is accepted: the TTL may be that short. */
const LONG_HIT_LIMIT_MS = 3000
const READ_INTERVAL_MS = 20
/** Reads of each client after each write. */
const MIN_READS = 5

export function createResult(clients: readonly EdgeClient[]): CoherenceResult {
  const urls = [...new Set(clients.map(({ origin }) => origin))]
  return { rounds: 0, replicas: urls.map((url) => ({ url, reads: 0, stale: 0, delays: [] })), staleReads: [] }
}

/** Adds to `result` after each read. Stops after a round in which a replica did not show the write. */
export async function runRounds(options: RoundsOptions, result: CoherenceResult): Promise<void> {
  const { clients, group, rounds, sleep, onRound } = options
  /** Checksums before the latest write. A response with one of them is stale. */
  const superseded = new Set<string | undefined>([undefined])
  let latest = { round: 0, url: clients[0]?.origin ?? '', at: 0 }

  const read = async (client: EdgeClient): Promise<ListedGroup & { readonly isStale: boolean }> => {
    const response = await group.read(client)
    const isStale = superseded.has(response.checksum)
    const counts = result.replicas.find(({ url }) => url === client.origin)
    if (counts !== undefined) {
      counts.reads += 1
      counts.stale += isStale ? 1 : 0
    }
    const { round, url: writtenThrough, at } = latest
    const isKnown = result.staleReads.some((each) => each.round === round && each.url === client.origin)
    if (isStale && !isKnown) {
      const { requestId, cacheStatus } = response
      const id = requestId === undefined ? {} : { requestId }
      const afterMs = Math.round(performance.now() - at)
      result.staleReads.push({ round, url: client.origin, writtenThrough, afterMs, ...id, cacheStatus })
    }
    return { ...response, isStale }
  }

  const forAll = async <Value>(use: (client: EdgeClient) => Promise<Value>): Promise<readonly Value[]> => {
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
      const hit = waited > LONG_HIT_LIMIT_MS ? /;\s*hit\b/ : /;\s*hit\b.*ttl=[1-9]/
      const missed = responses.findIndex(({ isStale, cacheStatus }) => isStale || !hit.test(cacheStatus))
      if (missed < 0) return responses.forEach(({ checksum }) => void superseded.add(checksum))
      if (waited > PRIME_LIMIT_MS) {
        const reason = `${clients[missed]?.origin} does not answer the list of groups from its cache`
        const status = `Cache-Status: ${responses[missed]?.cacheStatus}`
        throw new CommandError(`${reason} (${status}); check cache.enabled and cache.ttl.agents`)
      }
      await sleep(READ_INTERVAL_MS)
    }
  }

  /** Reads at least `MIN_READS` times and until the latest write shows. Resolves to whether it does. */
  const readUntilShown = async (client: EdgeClient): Promise<boolean> => {
    let isShown = false
    for (let count = 0; count < MIN_READS || !isShown; count++) {
      const { isStale } = await read(client)
      const waited = performance.now() - latest.at
      if (!isStale && !isShown) {
        isShown = true
        result.replicas.find(({ url }) => url === client.origin)?.delays.push(waited)
      }
      if (!isShown && waited > SHOW_LIMIT_MS) return false
      await sleep(READ_INTERVAL_MS)
    }
    return true
  }

  const [creator] = clients
  if (creator === undefined) return
  await group.create(creator)
  latest.at = performance.now()
  for (let round = 1; round <= rounds; round++) {
    onRound(round)
    await prime()
    const writer = clients[(round - 1) % clients.length] ?? creator
    await group.configure(writer, round)
    latest = { round, url: writer.origin, at: performance.now() }
    const isShown = await forAll(readUntilShown)
    if (isShown.includes(false)) return
    result.rounds = round
  }
}
