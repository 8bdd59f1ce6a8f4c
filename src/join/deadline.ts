/**
 * Deadlines nest, each with room for the outer one to answer: client > request > fan-out > node. A node that stalls costs
 * its own, and what the others gave is still in time.
 */
import { setMaxListeners } from 'node:events'
import { EdgeError } from '../core/errors.ts'
import type { EdgeRequest } from '../core/request.ts'

export interface FanOut {
  /** Aborted when the client leaves, or when the time of all parts is over. */
  readonly signal: AbortSignal
  readonly began: number
  /** The moment (performance.now) by which nodes must have answered; Infinity without a limit. */
  readonly until: number
  /** So much of the nodes' time has gone by then: 0.5 is half of it. */
  moment(share: number): number
  /** Frees the timer; to be called when the answer is made. */
  end(): void
}

export interface Limits {
  /** Milliseconds that a request may take; `slowTimeout` for records that are slow by nature. */
  readonly timeout: number
  readonly slowTimeout: number
}

/** Between two deadlines: a part of the time, and never more than this. */
const ROOM = 0.04
const MOST_ROOM = 400

export function startFanOut(
  { endpoint, signal, waitForComplete }: EdgeRequest,
  { timeout, slowTimeout }: Limits,
): FanOut {
  const controller = new AbortController()
  // Each of many nodes listens; Node would take more than ten of them for a leak.
  setMaxListeners(0, controller.signal)
  const began = performance.now()
  const whole = endpoint.slow === true ? slowTimeout : timeout
  const room = Math.min(MOST_ROOM, whole * ROOM)
  const leave = () => controller.abort(signal.reason)
  if (signal.aborted) leave()
  else signal.addEventListener('abort', leave, { once: true })
  // Nodes are given up on by their own deadline; this one is for what waits elsewhere: a fill of another replica.
  const late = () => controller.abort(new EdgeError(922, ' (its part was not there in time)'))
  const timer = waitForComplete ? undefined : setTimeout(late, whole - room)
  const given = waitForComplete ? Number.POSITIVE_INFINITY : whole - 2 * room
  return {
    signal: controller.signal,
    began,
    until: began + given,
    moment: (share) => began + given * share,
    end: () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', leave)
    },
  }
}
