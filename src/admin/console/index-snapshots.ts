/**
 * Snapshots of the cache index. One read of the index serves many requests of the console. Reads take at most a ninth
 * of the time, however many consoles are open. After a purge by any replica, what was read before is discarded. Purges
 * may be more frequent than reads are long, so a new read waits for the end of the read in progress.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { IndexEntry } from '../../core/cache.ts'
import type { CacheIndex } from '../../core/response.ts'

export interface IndexSnapshot {
  readonly rows: readonly IndexEntry[]
  /** Time of the read, in milliseconds of the clock. */
  readonly readAt: number
  /** Milliseconds before the index is read again. */
  readonly lifetime: number
  /** The read has not finished; more rows follow. */
  readonly partial: boolean
}

export interface IndexSnapshots {
  /** Returns the last snapshot if it is recent; else a new one, which is partial if the read takes longer than a second. */
  current(): Promise<IndexSnapshot>
  /** As `current`, but waits until the read has finished. */
  complete(): Promise<IndexSnapshot>
  /** Discards what was read. A read that has not begun serves all requests that came before it begins. */
  refresh(): void
}

const MIN_LIFETIME_MS = 2000
/** Lifetime of a snapshot in multiples of the time that its read took. */
const LIFETIME_PER_READ_TIME = 8
/** `current` waits so long for a complete snapshot. */
const MAX_WAIT_MS = 1000
/** Without requests the snapshot is discarded after this time, to free its memory. */
const IDLE_MS = 60_000

/** `clock`: monotonic milliseconds. */
export function createIndexSnapshots(
  index: Pick<CacheIndex, 'list' | 'purgeCount'>,
  clock: () => number,
): IndexSnapshots {
  let last: IndexSnapshot | undefined
  let reading: IndexRead | undefined
  let purges = index.purgeCount()
  let idleTimer: NodeJS.Timeout | undefined
  /** Ends with the read in progress. */
  let running: Promise<unknown> | undefined
  const startRead = (): IndexRead => {
    const read = readIndex(index, clock, running)
    const ended = read.complete
      .catch(() => {})
      .then(() => {
        if (running === ended) running = undefined
      })
    running = ended
    // If there was a purge meanwhile, the snapshot is outdated.
    const end = (snapshot?: IndexSnapshot): void => {
      if (reading !== read) return
      reading = undefined
      last = snapshot ?? last
    }
    read.complete.then(end, () => end())
    return read
  }
  const discard = (): void => {
    last = undefined
    // A read that has not begun finds no purged entry.
    if (reading?.hasBegun() === true) reading = undefined
    purges = index.purgeCount()
  }
  /** Returns a snapshot that is recent enough, or the read to wait for. */
  const best = (): IndexSnapshot | IndexRead => {
    clearTimeout(idleTimer)
    idleTimer = setTimeout(discard, IDLE_MS).unref()
    if (index.purgeCount() !== purges) discard()
    const age = last === undefined ? Number.POSITIVE_INFINITY : clock() - last.readAt
    if (last !== undefined && age < last.lifetime) return last
    reading ??= startRead()
    // If the read takes long, the last snapshot serves until it is three lifetimes old.
    return last !== undefined && last.lifetime > MIN_LIFETIME_MS && age < 3 * last.lifetime ? last : reading
  }
  return {
    current: async () => {
      const found = best()
      if (!('complete' in found)) return found
      return (await Promise.race([found.complete, sleep(MAX_WAIT_MS, undefined, { ref: false })])) ?? found.soFar()
    },
    refresh: discard,
    complete: async () => {
      const found = best()
      return 'complete' in found ? found.complete : found
    },
  }
}

/** A read of the index that is in progress, or that waits for another one. */
interface IndexRead {
  readonly complete: Promise<IndexSnapshot>
  hasBegun(): boolean
  soFar(): IndexSnapshot
}

/** `after`: the end of the read in progress. */
function readIndex(
  index: Pick<CacheIndex, 'list'>,
  clock: () => number,
  after: Promise<unknown> | undefined,
): IndexRead {
  let began: number | undefined
  let received: readonly IndexEntry[] = []
  const list = async (): Promise<IndexSnapshot> => {
    if (after !== undefined) await after
    const start = clock()
    began = start
    const rows = await index.list(undefined, (some) => {
      received = some
    })
    const readAt = clock()
    const lifetime = Math.max(MIN_LIFETIME_MS, (readAt - start) * LIFETIME_PER_READ_TIME)
    return { rows, readAt, lifetime, partial: false }
  }
  return {
    complete: list(),
    hasBegun: () => began !== undefined,
    soFar: () => ({ rows: [...received], readAt: clock(), lifetime: 0, partial: true }),
  }
}
