/**
 * When requests start. Those that arrive in one turn of the event loop start in it while it has time, and the others in later
 * turns, in their order: until then, a request costs only what Node needs to parse it.
 */
import { TurnQueue } from '../core/turn-queue.ts'
import { hasTime } from '../core/turns.ts'

/** A step until the first wait of a request takes some hundredths of a millisecond, and at most some tenths. */
const LATER_STARTS_PER_TURN = 16

const later = new TurnQueue<() => void>(LATER_STARTS_PER_TURN, (start) => start())

/** Whether a request that arrives may start in this turn. Otherwise it is to be started by `startLater`. */
export function mayStartNow(): boolean {
  return later.isEmpty && hasTime()
}

/** Calls `start` in a later turn, behind all that wait already. */
export function startLater(start: () => void): void {
  later.add(start)
}
