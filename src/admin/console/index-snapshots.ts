/**
 * Readings of the index of kept answers. One costs: it is made once for many questions, and takes no more than a small
 * share of the time, however often somebody looks.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { CacheIndex, IndexEntry } from '../../core/response.ts'

export interface Snapshot {
  readonly rows: readonly IndexEntry[]
  /** When it was read. */
  readonly at: number
  /** Milliseconds for which it is not read anew. */
  readonly good: number
  /** There are more, which are being read. */
  readonly unfinished: boolean
}

export interface Snapshots {
  /** The last one, as long as it is young enough; else a new one, as far as it has come in a moment. */
  current(): Promise<Snapshot>
  /** As `current`, but all of it, however long that takes. */
  whole(): Promise<Snapshot>
  /** What was read is not true any more. */
  forget(): void
}

const SHORTEST = 2000
/** Reading takes one part in so many of the time. */
const SHARE = 8
/** So long a question waits for all of it. */
const PATIENCE = 1000
/** After that nobody looks any more, and the memory is given back. */
const IDLE = 60_000

export function createSnapshots(index: Pick<CacheIndex, 'list'>, clock: () => number): Snapshots {
  let last: Snapshot | undefined
  let reading: UnderWay | undefined
  let idle: NodeJS.Timeout | undefined
  const begin = (): UnderWay => {
    const mine = startReading(index, clock)
    // One that was forgotten meanwhile is not to be remembered.
    const end = (read?: Snapshot): void => {
      if (reading !== mine) return
      reading = undefined
      last = read ?? last
    }
    mine.whole.then(end, () => end())
    return mine
  }
  const forget = (): void => {
    last = undefined
    reading = undefined
  }
  /** What may be shown at once, or is to be waited for. */
  const best = (): Snapshot | UnderWay => {
    clearTimeout(idle)
    idle = setTimeout(forget, IDLE).unref()
    const age = last === undefined ? Number.POSITIVE_INFINITY : clock() - last.at
    if (last !== undefined && age < last.good) return last
    reading ??= begin()
    // Whoever has something young enough to show does not wait for a long reading.
    return last !== undefined && last.good > SHORTEST && age < 3 * last.good ? last : reading
  }
  return {
    current: async () => {
      const found = best()
      if (!('whole' in found)) return found
      return (await Promise.race([found.whole, sleep(PATIENCE, undefined, { ref: false })])) ?? found.soFar()
    },
    whole: async () => {
      const found = best()
      return 'whole' in found ? found.whole : found
    },
    forget,
  }
}

interface UnderWay {
  readonly whole: Promise<Snapshot>
  soFar(): Snapshot
}

function startReading(index: Pick<CacheIndex, 'list'>, clock: () => number): UnderWay {
  const began = clock()
  let heard: readonly IndexEntry[] = []
  const whole = index.list(undefined, (rows) => {
    heard = rows
  })
  return {
    whole: whole.then((rows) => {
      const at = clock()
      return { rows, at, good: Math.max(SHORTEST, (at - began) * SHARE), unfinished: false }
    }),
    soFar: () => ({ rows: [...heard], at: clock(), good: 0, unfinished: true }),
  }
}
