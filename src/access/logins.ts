/**
 * Checks of name and password. Clients send both with every request and bcrypt takes 50 ms, so a right password is
 * remembered for a minute as a keyed digest, unless `forget` is called before.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { createCounters } from '../core/counters.ts'
import type { FailedLoginReason } from '../core/events.ts'
import { growingLru } from '../core/recently-used.ts'
import { Semaphore } from '../core/semaphore.ts'
import { type Clock, systemClock } from '../core/timing.ts'
import type { NameAndPassword } from '../core/values.ts'
import type { AccessOptions, CheckLimits } from './access.ts'
import { LOGIN_RANKS, LoginAttempts, type LoginRank } from './login-attempts.ts'
import type { VerifyPassword } from './passwords.ts'

type LoginResult =
  /** `isCurrent`: the same credentials are still valid without another check, from this address. */
  | { readonly ok: true; isCurrent(address: string): boolean }
  | { readonly ok: false; readonly reason: 'wrong' }
  | { readonly ok: false; readonly reason: 'blocked' | 'busy'; readonly retryAfterMs: number }

interface LoginOptions {
  readonly verifyPassword: VerifyPassword
  /** Returns a value that changes with the user's credentials, such as the hash in the users file. */
  credentialVersion(name: string): string | undefined
  readonly attempts: LoginAttempts
  readonly limits: CheckLimits
  readonly clock: Clock
  readonly onFailure?: ((reason: FailedLoginReason) => void) | undefined
}

interface RememberedLogin {
  readonly digest: Buffer
  /** Whether it is in memory: not any more after `forget`, another login of the user, or too many users. */
  isRemembered: boolean
  /** Not extended by use: the password is checked again a minute after the last check. */
  readonly expiresAt: number
}

const REMEMBER_MS = 60_000
const MAX_REMEMBERED_USERS = 10_000
/** Logins that wait for their delay while the whole edge is under attack. */
const MAX_DELAYED_LOGINS = 256
const MAX_NAME_LENGTH = 512
const MIN_RETRY_MS = 1000
const WRONG: LoginResult = { ok: false, reason: 'wrong' }

export function createPasswordLogins(
  { clock = systemClock, limits, counters = createCounters(() => clock.elapsed()), onFailedLogin }: AccessOptions,
  check: Pick<LoginOptions, 'verifyPassword' | 'credentialVersion' | 'limits'>,
): PasswordLogins {
  const attempts = new LoginAttempts({ failedLogins: limits.failedLogins, counters })
  return new PasswordLogins({ ...check, attempts, clock, onFailure: onFailedLogin })
}

export class PasswordLogins {
  readonly #options: LoginOptions
  readonly #key = randomBytes(32)
  readonly #remembered = growingLru<string, RememberedLogin>(MAX_REMEMBERED_USERS, (login) => {
    login.isRemembered = false
  })
  readonly #pending = new Map<string, Promise<LoginResult>>()
  readonly #checks: Semaphore
  #delayed = 0
  /** Milliseconds of the last check. */
  #checkMs = 0

  constructor(options: LoginOptions) {
    this.#options = options
    this.#checks = new Semaphore(() => options.limits.concurrency, LOGIN_RANKS)
  }

  /** Rejects only if `verifyPassword` rejects. */
  async login(address: string, pair: NameAndPassword): Promise<LoginResult> {
    const result = await this.#login(address, pair)
    if (!result.ok) this.#options.onFailure?.(result.reason)
    return result
  }

  /** To be called when the credentials of the user have changed: they must be checked again. */
  forget(name: string): void {
    this.#remembered.delete(name)
  }

  async #login(address: string, pair: NameAndPassword): Promise<LoginResult> {
    const name = pair.username
    if (name.length > MAX_NAME_LENGTH) return WRONG
    const digest = this.#digest(pair)
    // Parallel requests with the same credentials share one attempt, and so one failure and one bcrypt hash.
    const key = `${address} ${digest}`
    const pending = this.#pending.get(key)
    if (pending !== undefined) return pending
    // Checked before the remembered logins: a blocked address must not guess at the speed of a digest.
    const retryAfterMs = this.#options.attempts.blockedForMs(address, name)
    if (retryAfterMs > 0) return { ok: false, reason: 'blocked', retryAfterMs }
    const remembered = this.#remembered.get(name)
    if (remembered !== undefined && timingSafeEqual(remembered.digest, Buffer.from(digest))) {
      const success = this.#success(name, remembered)
      if (success.isCurrent(address)) return success
    }
    const attempt = this.#attempt(address, pair, digest).finally(() => this.#pending.delete(key))
    this.#pending.set(key, attempt)
    return attempt
  }

  async #attempt(address: string, pair: NameAndPassword, digest: string): Promise<LoginResult> {
    const { username: name } = pair
    const { attempts, verifyPassword, clock } = this.#options
    const decision = await attempts.count(address, name)
    if (!decision.allowed) return { ok: false, reason: 'blocked', retryAfterMs: decision.retryAfterMs }
    const credentialVersion = this.#options.credentialVersion(name)
    let isRight: boolean | undefined
    try {
      isRight = await this.#verifyInTurn(() => verifyPassword(pair, address), decision)
    } catch (error) {
      await attempts.cancel(address, name)
      throw error
    }
    if (isRight === undefined) {
      await attempts.cancel(address, name)
      const turns = this.#checks.waiting(decision.rank) / this.#options.limits.concurrency
      return { ok: false, reason: 'busy', retryAfterMs: Math.max(MIN_RETRY_MS, turns * this.#checkMs) }
    }
    if (!isRight) return WRONG
    await attempts.succeed(address, name)
    const isRemembered = credentialVersion === this.#options.credentialVersion(name)
    const remembered = { digest: Buffer.from(digest), isRemembered, expiresAt: clock.elapsed() + REMEMBER_MS }
    if (isRemembered) this.#remembered.set(name, remembered)
    return this.#success(name, remembered)
  }

  /** `remembered`: was found equal to the credentials, which need no digest any more. */
  #success(name: string, remembered: RememberedLogin): Extract<LoginResult, { readonly ok: true }> {
    const { attempts, clock } = this.#options
    const isCurrent = (address: string) =>
      remembered.isRemembered && remembered.expiresAt > clock.elapsed() && attempts.blockedForMs(address, name) <= 0
    return { ok: true, isCurrent }
  }

  /** Resolves to `undefined` if too many logins are delayed or queued. */
  async #verifyInTurn(
    verify: () => Promise<boolean>,
    { delayMs, rank }: { readonly delayMs: number; readonly rank: LoginRank },
  ): Promise<boolean | undefined> {
    if (delayMs > 0) {
      if (this.#delayed >= MAX_DELAYED_LOGINS) return undefined
      this.#delayed++
      await sleep(delayMs)
      this.#delayed--
    }
    if (!this.#checks.isFree && this.#checks.waiting(rank) >= this.#options.limits.maxQueued) return undefined
    await this.#checks.take(rank)?.taken
    const start = this.#options.clock.elapsed()
    try {
      const isRight = await verify()
      this.#checkMs = this.#options.clock.elapsed() - start
      return isRight
    } finally {
      this.#checks.release()
    }
  }

  /** The length of the name comes first: without it, `a` + `bc` and `ab` + `c` would be the same credentials. */
  #digest({ username, password, charset = 'utf8' }: NameAndPassword): string {
    return createHmac('sha256', this.#key)
      .update(`${charset} ${Buffer.byteLength(username)}:${username}${password}`)
      .digest('base64')
  }
}
