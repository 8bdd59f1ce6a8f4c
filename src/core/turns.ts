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
  return calls === 0 && !hasTime()
}

/** Whether this turn has time for `ms` milliseconds of work. Reads the clock. The first question of a turn is its begin. */
export function hasTime(ms = 0): boolean {
  const now = performance.now()
  if (begin !== undefined) return Math.max(expected, now - begin) + ms <= MS_PER_TURN
  begin = now
  setImmediate(endTurn)
  return true
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

export const PAUSE = Symbol('pause')

type Awaited = Promise<unknown> | typeof PAUSE

/**
 * Long synchronous work that yields when its turn is over: a promise to await it, or PAUSE to wait for a turn. Work that never
 * yields completes synchronously.
 */
export type CooperativeTask<T> = Generator<Awaited, T, unknown>

/** Runs a task; returns its value without a promise if the task never yields. */
export function runTask<T>(task: CooperativeTask<T>): T | Promise<T> {
  const step = task.next()
  return step.done ? step.value : runRest(task, step.value)
}

/** Runs a task that yields nothing but PAUSE in one turn: for short work. */
export function runAtOnce<T>(task: CooperativeTask<T>): T {
  for (;;) {
    const step = task.next()
    if (step.done) return step.value
  }
}

async function runRest<T>(task: CooperativeTask<T>, first: Awaited): Promise<T> {
  let awaited = first
  for (;;) {
    let value: unknown
    let failure: { readonly error: unknown } | undefined
    try {
      value = await (awaited === PAUSE ? waitForTurn() : awaited)
    } catch (error) {
      failure = { error }
    }
    const step = failure === undefined ? task.next(value) : task.throw(failure.error)
    if (step.done) return step.value
    awaited = step.value
  }
}
