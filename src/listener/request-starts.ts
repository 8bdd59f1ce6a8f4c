/**
 * When requests start. Those that arrive in one turn of the event loop start in it while it has time, and the others in later
 * turns, in their order: until then, a request costs only what Node needs to parse it.
 */
import { TurnQueue } from '../core/turn-queue.ts'

/** Milliseconds of one turn in which requests start. */
const MS_PER_TURN = 4
const STARTS_PER_CLOCK_READ = 8
/** A step until the first wait of a request takes some hundredths of a millisecond, and at most some tenths. */
const LATER_STARTS_PER_TURN = 16

let starts = 0
/** When the clock was first read in this turn; undefined: it was not. */
let begin: number | undefined
let isTurnOver = false

const later = new TurnQueue<() => void>(LATER_STARTS_PER_TURN, (start) => start())

/** Whether a request that arrives may start in this turn. Otherwise it is to be started by `startLater`. */
export function mayStartNow(): boolean {
  if (isTurnOver || !later.isEmpty) return false
  starts += 1
  if (starts % STARTS_PER_CLOCK_READ === 0) readClock()
  return true
}

/** Calls `start` in a later turn, behind all that wait already. */
export function startLater(start: () => void): void {
  later.add(start)
}

function readClock(): void {
  const now = performance.now()
  if (begin === undefined) setImmediate(endTurn)
  begin ??= now
  isTurnOver = now - begin > MS_PER_TURN
}

function endTurn(): void {
  begin = undefined
  isTurnOver = false
}
