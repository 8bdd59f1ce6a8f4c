/**
 * Counts the failed logins at one node. After 50 in 300 s a node refuses all requests of an address, those with a valid
 * token included, and all callers of the edge have one address. So the edge stops before: one caller with a wrong
 * password must not shut out the others. A login counts as failed before it is sent, and no longer once it has succeeded.
 */
import { randomUUID } from 'node:crypto'
import { LRUCache } from 'lru-cache'

/** A login that counts as failed. `id`: unique over all replicas. */
export interface FailedLogin {
  readonly node: string
  readonly name: string
  readonly id: string
}

/** The failures in `windowMs` from which no login is sent. */
export interface FailureLimits {
  readonly windowMs: number
  readonly all: number
  readonly perName: number
}

/** Failed logins that replicas count together, since they may have the same address. */
export interface SharedFailedLogins {
  /** The replicas that count. */
  readonly replicas: number
  /** Counts the login unless a limit is reached. `undefined`: the counters cannot be reached. */
  count(login: FailedLogin, limits: FailureLimits): Promise<LoginBlock | undefined>
  cancel(login: FailedLogin): Promise<void>
}

/** Milliseconds until a login may be sent: by the failures of all names, and of its own name. 0: now. */
export interface LoginBlock {
  readonly all: number
  readonly name: number
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
const MAX_REMEMBERED_BLOCKS = 1000

/**
 * Reserves the only attempt of all replicas, within `pause` milliseconds, to call a node that blocks the address. Resolves
 * to `undefined` if another replica has made one, or to the function that ends the reservation. It is counted as the
 * logins are, beside them.
 */
export async function reserveAttemptAt(
  node: string,
  pause: number,
  shared: SharedFailedLogins | undefined,
): Promise<(() => Promise<void>) | undefined> {
  const attempt: FailedLogin = { node: `${node}:attempts`, name: '', id: randomUUID() }
  const block = await shared?.count(attempt, { windowMs: Math.ceil(pause), all: 1, perName: 1 })
  if (block !== undefined && longest(block) > 0) return undefined
  return async () => shared?.cancel(attempt)
}

export interface FailedLoginOptions {
  readonly node: string
  /** Monotonic milliseconds. */
  readonly clock: () => number
  /** Absent: this process counts for itself. */
  readonly shared?: SharedFailedLogins
}

interface Failure extends FailedLogin {
  readonly at: number
}

export class FailedLogins {
  readonly #options: FailedLoginOptions
  /** Of this process, oldest first. */
  #failures: readonly Failure[] = []
  /** When logins may be sent again, as all replicas together know. */
  readonly #blocks = new LRUCache<string, number>({ max: MAX_REMEMBERED_BLOCKS })

  constructor(options: FailedLoginOptions) {
    this.#options = options
  }

  /**
   * Returns the milliseconds until a login of this name may be sent, as far as this process knows. `isTrusted`: the
   * credentials are unlikely to be wrong.
   */
  blockedFor(name: string, isTrusted: boolean): number {
    const keys = isTrusted ? [allKey(isTrusted)] : [allKey(isTrusted), nameKey(name)]
    const until = Math.max(0, ...keys.map((key) => this.#blocks.get(key) ?? 0))
    return Math.max(longest(this.#blockOf(name, limitsFor(isTrusted))), until - this.#options.clock(), 0)
  }

  /** Counts a login as failed, before it is sent. */
  async count(name: string, isTrusted: boolean): Promise<CountedLogin> {
    const { node, clock, shared } = this.#options
    const limits = limitsFor(isTrusted)
    const share = shared === undefined ? limits : shareOf(limits, shared.replicas)
    const own = this.#blockOf(name, share)
    const failure: Failure = { node, name, id: randomUUID(), at: clock() }
    // Counted here as well: if the shared counters cannot be reached, this process goes on from there.
    this.#failures = [...this.#recent(), failure]
    const block = (await shared?.count(failure, limits)) ?? own
    if (longest(block) > 0) {
      this.#remove(failure)
      if (block.all > 0) this.#blocks.set(allKey(isTrusted), clock() + block.all)
      if (block.name > 0) this.#blocks.set(nameKey(name), clock() + block.name)
      return { isBlocked: true, blockedFor: longest(block) }
    }
    const cancel = async () => {
      this.#remove(failure)
      await shared?.cancel(failure)
    }
    return { isBlocked: false, cancel }
  }

  #blockOf(name: string, { all, perName }: FailureLimits): LoginBlock {
    const recent = this.#recent()
    const ofName = recent.filter((failure) => failure.name === name)
    return { all: this.#timeUntilBelow(recent, all), name: this.#timeUntilBelow(ofName, perName) }
  }

  /** Returns the milliseconds until fewer than `max` of these failures are in the window. */
  #timeUntilBelow(failures: readonly Failure[], max: number): number {
    const last = failures[failures.length - max]
    return last === undefined ? 0 : Math.max(1, last.at + WINDOW_MS - this.#options.clock())
  }

  #recent(): readonly Failure[] {
    const start = this.#options.clock() - WINDOW_MS
    return this.#failures.filter(({ at }) => at > start)
  }

  #remove(failure: Failure): void {
    this.#failures = this.#failures.filter((each) => each !== failure)
  }
}

function limitsFor(isTrusted: boolean): FailureLimits {
  return isTrusted
    ? { windowMs: WINDOW_MS, all: MAX_FAILURES + RESERVE, perName: Number.MAX_SAFE_INTEGER }
    : { windowMs: WINDOW_MS, all: MAX_FAILURES, perName: MAX_FAILURES_PER_NAME }
}

/** The limits of one replica while it does not know the failures of the others. */
function shareOf({ windowMs, all, perName }: FailureLimits, replicas: number): FailureLimits {
  return { windowMs, all: Math.ceil(all / replicas), perName: Math.ceil(perName / replicas) }
}

function longest({ all, name }: LoginBlock): number {
  return Math.max(all, name)
}

function allKey(isTrusted: boolean): string {
  return isTrusted ? 'trusted' : 'all'
}

function nameKey(name: string): string {
  return `name ${name}`
}
