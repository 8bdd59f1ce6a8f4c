/**
 * The time that a node of the v4 layout needs: one process executes all calls of its API, and another one checks
 * passwords, each one call at a time. Without a cost, a node is as fast as this process.
 */
import { countLoad, type Load } from '../capacity.ts'
import { wait } from '../wait.ts'

export interface NodeCosts {
  readonly load: Load
  /** Counts the request until its response is complete. */
  countInFlight<T>(serve: () => Promise<T>): Promise<T>
  /** Checks a password. */
  logIn(): Promise<void>
  /** Executes a call of this many milliseconds of processor time. */
  execute(milliseconds: number): Promise<void>
  /** Executes a call that another node passes on. */
  carryOut(milliseconds: number): Promise<void>
}

const LOGIN_MS = 130
/** Milliseconds of a call without an own cost. */
export const USUAL_MS = 9
/** A worker asks the master three times for each call. */
export const WORKER_FACTOR = 4

/** `scale`: factor by which nodes are faster than real ones; undefined: no cost. */
export function createCosts(scale: number | undefined): NodeCosts {
  const { load, countInFlight } = countLoad()
  const logins = sequence(scale)
  const executions = sequence(scale)
  return {
    load,
    countInFlight,
    logIn: () => logins(LOGIN_MS),
    execute: (milliseconds) => {
      load.interpreted += 1
      return executions(milliseconds)
    },
    carryOut: (milliseconds) => {
      load.forwarded += 1
      return executions(milliseconds)
    },
  }
}

/** Runs one after the other; all times pass on timers. */
function sequence(scale: number | undefined): (milliseconds: number) => Promise<void> {
  if (scale === undefined) return async () => undefined
  let free = 0
  return (milliseconds) => {
    free = Math.max(free, performance.now()) + milliseconds / scale
    return wait(free - performance.now())
  }
}
