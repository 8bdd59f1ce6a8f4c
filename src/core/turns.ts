/**
 * Distributes all long work over turns of the event loop, so that other events are served in between. All work shares the
 * time of a turn: rows that are merged, queried or listed, JSON that is parsed or printed, chunks that are received,
 * uploads that are checked. A turn is over when this time has passed. It exceeds the time by one piece of work, and
 * pieces are chosen to take about a millisecond: with 100,000 rows, no turn takes 20 ms.
 */

/** Milliseconds of work in one turn. */
const MS_PER_TURN = 3
/** What a piece of unknown length that has waited is expected to take. */
const PIECE_MS = 1
const CALLS_PER_CLOCK_READ = 32
/** Parsing this much takes about a millisecond. */
const JSON_BYTES_PER_MS = 64 * 1024

interface Waiting {
  readonly ms: number
  readonly resolve: () => void
}

const waiting: Waiting[] = []
/** When the work of this turn began; undefined: there was none. */
let begin: number | undefined
/** Milliseconds that the pieces of this turn are expected to take: some of them may not have started. */
let expected = 0
let calls = 0

/**
 * To be awaited before a piece of work that takes about `ms` milliseconds. Returns undefined while the turn has time left, so
 * that work which comes alone is not delayed: its first piece may be longer. Otherwise pieces get later turns in the order
 * of their calls.
 */
export function waitForTurn(ms = 0): Promise<void> | undefined {
  if (waiting.length === 0 && hasTime(ms)) {
    expected += ms
    return undefined
  }
  return new Promise((resolve) => waiting.push({ ms, resolve }))
}

/** As `waitForTurn`, for JSON text of this length, which is parsed or printed. */
export function waitForJsonTurn(bytes: number): Promise<void> | undefined {
  return waitForTurn(bytes / JSON_BYTES_PER_MS)
}

/** Corrects the expected time of a piece by `ms` milliseconds. */
export function spendTurn(ms: number): void {
  expected += ms
}

/** Whether work that has no pieces of known length must wait for a turn. Reads the clock on every 32nd call only. */
export function isTurnOver(): boolean {
  calls = (calls + 1) % CALLS_PER_CLOCK_READ
  return calls === 0 && isTurnOverNow()
}

/** As `isTurnOver`, but reads the clock on each call: for long steps. */
export function isTurnOverNow(): boolean {
  return !hasTime(0)
}

function hasTime(ms: number): boolean {
  const now = performance.now()
  if (begin === undefined) {
    beginTurn(now)
    return true
  }
  return Math.max(expected, now - begin) + ms <= MS_PER_TURN
}

function beginTurn(now: number): void {
  begin = now
  setImmediate(endTurn)
}

function endTurn(): void {
  begin = undefined
  expected = 0
  for (let next = waiting[0]; next !== undefined && hasTime(next.ms); next = waiting[0]) {
    waiting.shift()
    expected += next.ms || PIECE_MS
    next.resolve()
  }
}
