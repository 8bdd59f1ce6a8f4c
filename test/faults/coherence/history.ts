/** Checks whether some order of the operations in a history explains all values that were read. */

/** Times are of one clock. The value of a write is its place in the order of the upstream, from 1. It begins as 0. */
export interface Operation {
  readonly key: string
  /** `refused`: a write that was answered as not carried out. */
  readonly kind: 'read' | 'write' | 'refused'
  /** Absent: the outcome is unknown. A write may take effect at any time after it began, or never. */
  readonly value?: number
  readonly begin: number
  readonly end: number
  /** The replica that responded: its URL or name. */
  readonly by: string
  /**
   * A read that is marked `detail=without-redis`: it may be older than a write that another replica has acknowledged, and than
   * another read.
   */
  readonly isWithoutRedis?: true
}

export interface Violation {
  /**
   * `stale`: older than what had been acknowledged before it began; if it is marked, by its own replica. `backwards`: older than what another read had
   * returned before it began. `early`: newer than any write that had begun before it ended.
   */
  readonly kind: 'stale' | 'backwards' | 'early'
  readonly read: Operation
  /** The smallest or greatest correct value. */
  readonly bound: number
}

/** Returns every read that no order explains, by their start, once for each kind of violation. */
export function check(history: readonly Operation[]): Violation[] {
  const keys = new Map<string, Operation[]>()
  for (const operation of history) {
    const own = keys.get(operation.key)
    if (own === undefined) keys.set(operation.key, [operation])
    else own.push(operation)
  }
  return [...keys.values()].flatMap(checkKey).sort((a, b) => a.read.begin - b.read.begin)
}

function checkKey(history: readonly Operation[]): Violation[] {
  const reads = history.filter(isAnswered).filter(({ kind }) => kind === 'read')
  const writes = history.filter(({ kind }) => kind === 'write')
  const acknowledged = newestBefore(writes.filter(isAnswered))
  const replicas = new Set(history.map(({ by }) => by))
  const acknowledgedBy = new Map(
    [...replicas].map((by) => [by, newestBefore(writes.filter(isAnswered).filter((write) => write.by === by))]),
  )
  const returned = newestBefore(reads)
  const begun = writes.map(({ begin }) => begin).sort((a, b) => a - b)
  return reads.flatMap((read) => {
    const found: Violation[] = []
    const isOrdered = read.isWithoutRedis !== true
    const least = (isOrdered ? acknowledged : acknowledgedBy.get(read.by))?.(read.begin) ?? 0
    const seen = returned(read.begin)
    const most = countUpTo(begun, read.end)
    if (read.value < least) found.push({ kind: 'stale', read, bound: least })
    if (isOrdered && read.value < seen) found.push({ kind: 'backwards', read, bound: seen })
    if (read.value > most) found.push({ kind: 'early', read, bound: most })
    return found
  })
}

type Answered = Operation & { readonly value: number }

function isAnswered(operation: Operation): operation is Answered {
  return operation.value !== undefined
}

/** Returns the greatest value among the operations that ended strictly before a moment; 0 if there is none. */
function newestBefore(operations: readonly Answered[]): (moment: number) => number {
  const ended = [...operations].sort((a, b) => a.end - b.end)
  let newest = 0
  const newestUpTo = ended.map(({ value }) => {
    newest = Math.max(newest, value)
    return newest
  })
  const ends = ended.map(({ end }) => end)
  return (moment) => newestUpTo[countUpTo(ends, moment, true) - 1] ?? 0
}

/** Returns how many of the ascending times are at or before the moment; with `strictly`, before it. */
function countUpTo(times: readonly number[], moment: number, strictly = false): number {
  let low = 0
  let high = times.length
  while (low < high) {
    const middle = (low + high) >> 1
    const time = times[middle] ?? 0
    if (time < moment || (!strictly && time === moment)) low = middle + 1
    else high = middle
  }
  return low
}
