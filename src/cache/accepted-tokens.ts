/**
 * The tokens of the manager's users that the master has accepted, in the store of the cache: all replicas share them,
 * they expire, and a write that ends tokens invalidates them before it is answered. The keys are HMACs, so no token is in
 * Redis.
 *
 * Two things are remembered apart. That a token is genuine: the master has accepted or issued it once. This holds until the
 * token expires. And from which time on tokens of a series are good: tokens that differ in their times only. The master ends
 * tokens by the time of their issue: all of a user, a role or the whole manager that were issued before a change. So when the
 * master accepts one token, each genuine one of its series that was issued at the same time or later is good as well.
 */
import { createHmac } from 'node:crypto'
import type { ClaimedToken, HasEnded } from '../core/access.ts'
import { isOutageFailure } from '../core/envelope.ts'
import { EdgeError } from '../core/errors.ts'
import { faultRules, type NodeFault } from '../core/node-faults.ts'
import { growingLru } from '../core/recently-used.ts'
import { bytesOf, type StoredBytes } from '../core/response.ts'
import { type Clock, systemClock, withTimeout } from '../core/timing.ts'
import { ownField, parseJson } from '../core/values.ts'
import type { RecheckPace } from './recheck-pace.ts'
import type { BytesKey, BytesLookup, EpochStore, NewEntry } from './stores/contract.ts'
import { epochsText } from './stores/epochs.ts'

/** What writes invalidate that end tokens: of any user, or of one (contracts/v4/security.ts). */
export const RIGHTS_TAG = 'rights'
const USER_TAG = 'tokens:'
/** No write invalidates this tag: a genuine token stays genuine. */
const GENUINE_TAGS = ['tokens'] as const
/** Users whose last login is remembered. */
const MAX_LOGINS = 10_000
/** Tokens whose refusal is remembered. */
const MAX_REFUSED = 10_000
/** A request waits this long for a check that may be late, in milliseconds. */
const LATE_CHECK_WAIT_MS = 1_000

/** How the master is asked about a token. */
interface AskNode {
  /** Resolves to whether the master accepts a token. `isAwaited`: whether a request waits for it. */
  ask(isAwaited: boolean): Promise<boolean>
  /** As `ask`, for a token that nothing is known of: it may be made up. */
  askOfUnknown(): Promise<boolean>
}

interface Acceptance {
  /** No node answers, so that the token is good for reads only: nothing shows whether the manager has ended it. */
  readonly isOnlyForReads?: true
  /** To be called when the node has answered a call that carried the token: the answer is a check as well. */
  readonly noteAnswer: () => void
  /**
   * Returns `noteAnswer` for a further request; `undefined`: the token must be checked again. It never asks a node or Redis.
   */
  current(): Acceptance['noteAnswer'] | undefined
}

/** Where a token and its series are stored. */
interface Place extends Pick<ClaimedToken, 'issuedAt' | 'expiresAt'> {
  readonly own: BytesKey
  readonly series: BytesKey
  readonly tags: readonly string[]
}

/** A request that waits for the check of its token. */
interface Waiter {
  readonly place: Place
  readonly node: AskNode
  resolve(isAccepted: boolean): void
  reject(error: unknown): void
}

interface AcceptedTokensOptions {
  readonly store: EpochStore
  readonly secret: () => Buffer | string
  readonly pace: RecheckPace
  readonly hasEnded: HasEnded
  /** Whether accepted tokens stay good for reads while no node answers. Absent: they do not. */
  readonly hasOutageMode?: () => boolean
  readonly clock?: Clock
}

export class AcceptedTokens {
  readonly #options: AcceptedTokensOptions
  readonly #clock: Clock
  readonly #logins = growingLru<string, { readonly since: number; readonly before: BytesLookup }>(MAX_LOGINS)
  /** Calls for tokens that nothing is known of. */
  readonly #unknown = new Map<string, Promise<boolean>>()
  /** Who waits for the next call for a genuine token, by series. */
  readonly #waiting = new Map<string, Waiter[]>()
  readonly #refusedUntil = growingLru<string, number>(MAX_REFUSED)

  constructor(options: AcceptedTokensOptions) {
    this.#options = options
    this.#clock = options.clock ?? systemClock
  }

  /**
   * Resolves to the acceptance of a token: a known one of any replica, or what the node answers now. Resolves to `undefined`
   * for a token that the node refuses, and rejects as `node` does.
   */
  async check(token: ClaimedToken, node: AskNode): Promise<Acceptance | undefined> {
    const { store, pace, hasEnded } = this.#options
    const place = this.#placeOf(token)
    const { user, roles } = token
    const [genuine, before] = await Promise.all([
      store.lookup(place.own, GENUINE_TAGS),
      store.lookup(place.series, place.tags),
    ])
    const issuedAt = issuedAtIn(genuine) ?? latestIssueOf(token, this.#clock)
    if (hasEnded({ user, roles }, issuedAt)) return undefined
    pace.note(place.series)
    const current = () => (hasEnded({ user, roles }, issuedAt) ? undefined : this.#current(place))
    const fresh = { current, noteAnswer: nothingToNote }
    if (genuine.kind !== 'hit') return (await this.#askOfUnknown(place, issuedAt, before, node)) ? fresh : undefined
    if (this.#clock.elapsed() < (this.#refusedUntil.get(place.own) ?? 0)) return undefined
    const known = acceptedIn(before)
    const isCovered = known !== undefined && known.from <= place.issuedAt && known.age < pace.longest()
    if (!isCovered) {
      try {
        return (await this.#ask(place, node)) ? fresh : undefined
      } catch (error) {
        if (isOutage(error) && (await this.#wasAccepted(place))) return ONLY_FOR_READS
        throw error
      }
    }
    if (known.age < pace.interval()) return fresh
    const late = { current, noteAnswer: this.#noteLater(place, before) }
    if (!pace.take()) return late
    // While the node is slow or fails, the acceptance goes on until its end.
    const isAwaited = !pace.isBusy()
    const asking = this.#ask(place, { ...node, ask: () => node.ask(isAwaited) }).catch(() => 'late' as const)
    // The check waits behind the reads that clients wait for.
    if (!isAwaited) return late
    const answer = await withTimeout(asking, LATE_CHECK_WAIT_MS, 'late' as const)
    if (answer === 'late') return late
    return answer ? fresh : undefined
  }

  /** To be called before a login of a user. */
  async beginLogin(user: string): Promise<void> {
    const since = this.#clock.elapsed()
    const before = await this.#options.store.lookup(`bytes:login ${user}`, tagsOfUser(user))
    const known = this.#logins.get(user)
    // Another login of the user may be in progress. Nothing has changed since it began.
    if (known === undefined || epochsText(known.before) !== epochsText(before))
      this.#logins.set(user, { since, before })
  }

  /**
   * A login has given this token. `acceptedAgo`: milliseconds since the call began in which the node issued or accepted it;
   * `issuedAt`: when the login was sent, in milliseconds since 1970.
   */
  async noteIssued(
    token: ClaimedToken,
    { acceptedAgo, issuedAt }: { readonly acceptedAgo: number; readonly issuedAt: number },
  ): Promise<void> {
    const place = this.#placeOf(token)
    await this.#addGenuine(place, issuedAt)
    const begun = this.#logins.get(token.user)
    const acceptedAt = this.#clock.elapsed() - acceptedAgo
    if (begun === undefined || begun.since > acceptedAt) return
    const now = await this.#options.store.lookup(place.series, place.tags)
    // A change since then may have ended the token, so that it must be checked.
    if (epochsText(begun.before) === epochsText(now)) await this.#add(place, now, this.#clock.elapsed() - acceptedAt)
  }

  #placeOf({ text, node, user, series, issuedAt, expiresAt }: ClaimedToken): Place {
    const digest = (kind: string, value: string): BytesKey => {
      const hmac = createHmac('sha256', this.#options.secret()).update(`${kind} ${node.length}:${node} ${value}`)
      return `bytes:${hmac.digest('base64url')}`
    }
    return { own: digest('token', text), series: digest('series', series), tags: tagsOfUser(user), issuedAt, expiresAt }
  }

  /** Whether the token was accepted, and no change since then may have ended it. */
  async #wasAccepted({ series, tags, issuedAt }: Place): Promise<boolean> {
    if (this.#options.hasOutageMode?.() !== true) return false
    const lookup = await this.#options.store.lookup(series, tags)
    const from = fromIn(lookup)
    return from !== undefined && from <= issuedAt
  }

  /** Only the node can check the signature of a token that it has never accepted. */
  #askOfUnknown(place: Place, issuedAt: number, before: BytesLookup, node: AskNode): Promise<boolean> {
    // A call under way may have begun before a change that this request must see.
    const id = `${place.own} ${epochsText(before)}`
    const begun = this.#unknown.get(id)
    if (begun !== undefined) return begun
    const ask = async () => {
      const isAccepted = await node.askOfUnknown()
      if (isAccepted) await Promise.all([this.#addGenuine(place, issuedAt), this.#add(place, before)])
      return isAccepted
    }
    const asking = ask().finally(() => this.#unknown.delete(id))
    this.#unknown.set(id, asking)
    return asking
  }

  /** Asks about genuine tokens of a series together: one call at a time. Resolves to whether the token is good. */
  #ask(place: Place, node: AskNode): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const waiter = { place, node, resolve, reject }
      const others = this.#waiting.get(place.series)
      if (others !== undefined) return void others.push(waiter)
      const waiters = [waiter]
      this.#waiting.set(place.series, waiters)
      void this.#askInRounds(waiters).finally(() => this.#waiting.delete(place.series))
    })
  }

  async #askInRounds(waiters: Waiter[]): Promise<void> {
    while (waiters.length > 0) {
      // Those that come during a round wait for the next one: its call may have begun before a change that they must see.
      const round = waiters.splice(0)
      try {
        waiters.unshift(...(await this.#askForOldest(round)))
      } catch (error) {
        for (const { reject } of round) reject(error)
      }
    }
  }

  /** Asks for the oldest token, whose acceptance covers the others. Returns those that must be asked for after it. */
  async #askForOldest(round: readonly Waiter[]): Promise<readonly Waiter[]> {
    const { store, pace } = this.#options
    const { place, node } = round.reduce((a, b) => (b.place.issuedAt < a.place.issuedAt ? b : a))
    const before = await store.lookup(place.series, place.tags)
    const known = acceptedIn(before)
    const isKnown = known !== undefined && known.from <= place.issuedAt && known.age < pace.interval()
    if (isKnown || (await node.ask(true))) {
      if (!isKnown) await this.#add(place, before)
      for (const { resolve } of round) resolve(true)
      return []
    }
    this.#refusedUntil.set(place.own, this.#clock.elapsed() + pace.interval())
    const isOfSame = (waiter: Waiter) => waiter.place.own === place.own
    for (const { resolve } of round.filter(isOfSame)) resolve(false)
    return round.filter((waiter) => !isOfSame(waiter))
  }

  #current(place: Place): Acceptance['noteAnswer'] | undefined {
    const lookup = this.#options.store.lookupLocal(place.series, place.tags)
    if (lookup === undefined) return undefined
    const known = acceptedIn(lookup)
    if (known === undefined || known.from > place.issuedAt || known.age >= this.#options.pace.interval())
      return undefined
    return this.#isRecent(known) ? nothingToNote : this.#noteLater(place, lookup)
  }

  /** Returns the function that notes the answer to a call that is sent from now on. `before`: what was just looked up. */
  #noteLater(place: Place, before: BytesLookup): Acceptance['noteAnswer'] {
    // Only a part of all answers, and none of them depends on it.
    return () => void this.#add(place, before).catch(nothingToNote)
  }

  /**
   * Stores that the node accepted the token after `before` was looked up. `initialAge`: milliseconds before that lookup at
   * which the call for it began.
   */
  async #add({ series, tags, issuedAt, expiresAt }: Place, before: BytesLookup, initialAge = 0): Promise<void> {
    const known = acceptedIn(this.#options.store.lookupLocal(series, tags) ?? before)
    // The acceptance of an older token covers more.
    if (known !== undefined && known.from < issuedAt && this.#isRecent(known)) return
    const { pace, hasOutageMode } = this.#options
    const ttl = pace.longest()
    const left = hasOutageMode?.() === true ? expiresAt - this.#clock.wall() - ttl : 0
    const stored = bytesOf({ from: issuedAt }, ttl, Math.max(0, left))
    await this.#save(before, { key: series, tags, stored, initialAge })
  }

  async #addGenuine({ own, expiresAt }: Place, issuedAt: number): Promise<void> {
    const before = await this.#options.store.lookup(own, GENUINE_TAGS)
    if (before.kind === 'hit') return
    const stored = bytesOf({ issuedAt }, expiresAt - this.#clock.wall())
    await this.#save(before, { key: own, tags: GENUINE_TAGS, stored })
  }

  #isRecent({ age }: { readonly age: number }): boolean {
    return age < this.#options.pace.interval() / 2
  }

  /** `before`: what was looked up before the node answered. */
  async #save(before: BytesLookup, entry: Omit<NewEntry<StoredBytes, BytesKey>, 'epochs'>): Promise<void> {
    if (before.kind === 'unavailable' || before.epochs.fenced || entry.stored.ttl <= 0) return
    await this.#options.store.store({ ...entry, epochs: before.epochs })
  }
}

function nothingToNote(): void {}

/** Returns from which time of issue on tokens are good, and the milliseconds since the node was asked. */
function acceptedIn(lookup: BytesLookup): { readonly from: number; readonly age: number } | undefined {
  const from = fromIn(lookup)
  return from !== undefined && lookup.kind === 'hit' && lookup.age < lookup.response.ttl
    ? { from, age: lookup.age }
    : undefined
}

/** Returns the same time of an acceptance that may have expired. */
function fromIn(lookup: BytesLookup): number | undefined {
  if (lookup.kind !== 'hit' || lookup.epochs.fenced) return undefined
  const from = ownField(parseJson(lookup.response.body), 'from')
  return typeof from === 'number' ? from : undefined
}

/** Whether the token could not be checked because no node answers. */
function isOutage(error: unknown): boolean {
  return error instanceof EdgeError && isOutageFailure(error.code) && isUnanswered(error.cause)
}

/** A node that is overloaded, or answers one call too late, answers others. */
function isUnanswered(cause: unknown): boolean {
  const fault = ownField(cause, 'fault')
  return typeof fault === 'string' && fault in faultRules && isOutageFailure(faultRules[fault as NodeFault].code)
}

const ONLY_FOR_READS: Acceptance = { isOnlyForReads: true, noteAnswer: nothingToNote, current: () => undefined }

/** Returns the latest time at which a genuine token can have been issued; `undefined`: no replica has noted it. */
function issuedAtIn(lookup: BytesLookup): number | undefined {
  const noted = lookup.kind === 'hit' ? ownField(parseJson(lookup.response.body), 'issuedAt') : undefined
  return typeof noted === 'number' ? noted : undefined
}

/** As far as its claims show, whose times are whole seconds of the clock of the node. Milliseconds since 1970. */
export function latestIssueOf({ issuedAt }: Pick<ClaimedToken, 'issuedAt'>, clock: Pick<Clock, 'wall'>): number {
  return Math.min(issuedAt + 999, clock.wall())
}

/** The tags of what depends on the rights of a user. */
export function tagsOfUser(user: string): readonly string[] {
  return [RIGHTS_TAG, `${USER_TAG}${user}`]
}
