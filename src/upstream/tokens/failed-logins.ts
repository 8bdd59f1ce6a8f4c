/**
 * Counts the failed logins at one node. After 50 in 300 s a node refuses all requests of an address, those with a valid
 * token included, and all callers of the edge have one address. So the edge stops before: one caller with a wrong
 * password must not shut out the others. A login counts as failed before it is sent, and no longer once it has succeeded.
 */
import type { CounterStep, Counters } from '../../core/counters.ts'

/** The failures in `WINDOW_MS` from which no login is sent. */
interface FailureLimits {
  readonly all: number
  readonly perName: number
}

export type CountedLogin =
  | { readonly isBlocked: true; readonly blockedFor: number }
  /** `cancel`: the login did not fail. */
  | { readonly isBlocked: false; cancel(): Promise<void> }

const WINDOW_MS = 300_000
/** Of all names together. */
const MAX_FAILURES = 40
/** Further failures for trusted credentials: those of the edge, and those that the node accepted before. */
const RESERVE = 5
/** Of one name, so that several names fail before the limit of the node is reached. */
const MAX_FAILURES_PER_NAME = 10

/**
 * Reserves the only attempt of all replicas, within `pause` milliseconds, to call a node that blocks the address. Resolves
 * to `undefined` if another replica has made one, or to the function that ends the reservation.
 */
export async function reserveAttemptAt(
  node: string,
  pause: number,
  counters: Counters,
): Promise<(() => Promise<void>) | undefined> {
  const name = `attempt:${node}`
  if (counters.replicas === 1) return async () => undefined
  const isReserved = await counters.update([name], (texts, { now }) => {
    const last = Number(texts.get(name))
    if (now < last + pause) return false
    texts.set(name, `${now}`, Math.max(pause, WINDOW_MS))
    return true
  })
  return isReserved ? () => counters.update([name], (texts) => texts.set(name, '', 0)) : undefined
}

/** A failure is the text `time digest-of-the-name`. Redis holds no name: a user may type a password as a name. */
export class FailedLogins {
  readonly #counters: Counters
  readonly #key: string

  constructor(node: string, counters: Counters) {
    this.#counters = counters
    this.#key = `failed:${node}`
  }

  /**
   * Returns the milliseconds until a login of this name may be sent, as far as this process knows. `isTrusted`: the
   * credentials are unlikely to be wrong.
   */
  blockedFor(name: string, isTrusted: boolean): number {
    const now = this.#counters.now()
    return waitFor(
      recentOf(this.#counters.peek(this.#key), now),
      this.#counters.digest(name),
      limitsFor(isTrusted),
      now,
    )
  }

  /** Counts a login as failed, before it is sent. */
  async count(name: string, isTrusted: boolean): Promise<CountedLogin> {
    const digest = this.#counters.digest(name)
    const { blockedFor, counted } = await this.#counters.update([this.#key], (texts, { now, weight }: CounterStep) => {
      const recent = recentOf(texts.get(this.#key), now)
      const blockedFor = waitFor(recent, digest, limitsFor(isTrusted), now)
      if (blockedFor > 0) return { blockedFor, counted: [] }
      const counted = Array<string>(weight).fill(`${now} ${digest}`)
      texts.set(this.#key, [...recent, ...counted].join(';'), WINDOW_MS)
      return { blockedFor, counted }
    })
    return blockedFor > 0 ? { isBlocked: true, blockedFor } : { isBlocked: false, cancel: () => this.#cancel(counted) }
  }

  #cancel(counted: readonly string[]): Promise<void> {
    return this.#counters.update([this.#key], (texts, { now }) => {
      const left = recentOf(texts.get(this.#key), now)
      for (const failure of counted) if (left.includes(failure)) left.splice(left.indexOf(failure), 1)
      texts.set(this.#key, left.join(';'), WINDOW_MS)
    })
  }
}

/** Returns the failures in the window, oldest first. */
function recentOf(text: string, now: number): string[] {
  return text.split(';').filter((failure) => timeOf(failure) > now - WINDOW_MS)
}

function timeOf(failure: string): number {
  return Number.parseInt(failure, 10)
}

/** Returns the milliseconds until fewer failures than the limits are in the window. */
function waitFor(failures: readonly string[], digest: string, { all, perName }: FailureLimits, now: number): number {
  const ofName = failures.filter((failure) => failure.endsWith(` ${digest}`))
  const last = [failures[failures.length - all], ofName[ofName.length - perName]]
  return Math.max(0, ...last.map((failure) => (failure ? Math.max(1, timeOf(failure) + WINDOW_MS - now) : 0)))
}

function limitsFor(isTrusted: boolean): FailureLimits {
  return isTrusted
    ? { all: MAX_FAILURES + RESERVE, perName: Number.MAX_SAFE_INTEGER }
    : { all: MAX_FAILURES, perName: MAX_FAILURES_PER_NAME }
}
