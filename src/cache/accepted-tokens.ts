/**
 * The tokens of the manager's users that the master has accepted, as stored responses of the cache: all replicas share them,
 * they expire, and a write that ends tokens invalidates them before it is answered. The keys are HMACs, so no token is in
 * Redis.
 *
 * Two things are remembered apart. That a token is genuine: the master has accepted or issued it once. This holds until the
 * token expires. And from which time on tokens of a series are good: tokens that differ in their times only. The master ends
 * tokens by the time of their issue: all of a user, a role or the whole manager that were issued before a change. So when the
 * master accepts one token, each genuine one of its series that was issued at the same time or later is good as well.
 */
import { createHmac } from 'node:crypto'
import { growingLru } from '../core/recently-used.ts'
import type { Lookup } from '../core/response.ts'
import { StoredForms } from '../core/stored-forms.ts'
import { type Clock, systemClock, withTimeout } from '../core/timing.ts'
import { ownField, parseJson } from '../core/values.ts'
import type { CacheStore } from './stores/contract.ts'

/** What writes invalidate that end tokens: of any user, or of one (catalogue/newer-contract/security-writes.ts). */
const RIGHTS_TAG = 'rights'
const USER_TAG = 'tokens:'
/** No write invalidates this tag: a genuine token stays genuine. */
const GENUINE_TAGS = ['tokens'] as const
const PATH = '/security/user/authenticate'
/** Tokens whose refusal is remembered. */
const MAX_REFUSED = 10_000
/** Users whose last login is remembered. */
const MAX_LOGINS = 10_000
/** A request waits this long for a check that may be late, in milliseconds. */
const LATE_CHECK_WAIT_MS = 1_000

/** A token whose claims were read, but not verified. */
export interface ClaimedToken {
  readonly text: string
  /** The node that can have issued it. */
  readonly node: string
  readonly user: string
  /** The same text for all tokens with equal claims but for their times. */
  readonly series: string
  /** Seconds since 1970. */
  readonly issuedAt: number
  /** Milliseconds since 1970. */
  readonly expiresAt: number
}

/** How the master is asked about a token. */
export interface AskNode {
  /** Resolves to whether the master accepts a token. */
  ask(): Promise<boolean>
  /** As `ask`, for a token that nothing is known of: it may be made up. */
  askOfUnknown(): Promise<boolean>
}

export interface AcceptedTokens {
  /**
   * Resolves to the acceptance of a token: a known one of any replica, or what the node answers now. Resolves to `undefined`
   * for a token that the node refuses, and rejects as `node` does.
   */
  check(token: ClaimedToken, node: AskNode): Promise<Acceptance | undefined>
  /** To be called before a login of a user. */
  beginLogin(user: string): Promise<void>
  /** A login has given this token. `acceptedAgo`: milliseconds since the call began in which the node issued or accepted it. */
  noteIssued(token: ClaimedToken, acceptedAgo: number): Promise<void>
}

/** The acceptance of a token. */
export interface Acceptance {
  /** To be called when the node has answered a call that carried the token: the answer is a check as well. */
  readonly noteAnswer: () => void
  /**
   * Returns `noteAnswer` for a further request; `undefined`: the token must be checked again. It never asks a node or Redis.
   */
  current(): Acceptance['noteAnswer'] | undefined
}

/** When acceptances are checked again. Times in milliseconds. */
export interface RecheckPace {
  /** After this time an acceptance is checked again, if the calls per minute permit it. */
  interval(): number
  /** After this time an acceptance ends. */
  longest(): number
  /** Notes that tokens of a series are in use. */
  note(series: string): void
  /** Takes a permit for a check, if there is one. */
  take(): boolean
}

export interface AcceptedTokensOptions {
  readonly store: Pick<CacheStore, 'lookup' | 'lookupLocal' | 'store'>
  readonly secret: () => Buffer | string
  readonly pace: RecheckPace
  readonly clock?: Clock
}

export function createAcceptedTokens(options: AcceptedTokensOptions): AcceptedTokens {
  const { store, secret, pace, clock = systemClock } = options
  const acceptances = new Acceptances(store, pace, clock)
  const unknown = new Map<string, Promise<boolean>>()
  const checks = new SeriesChecks(options, acceptances, clock)
  const logins = growingLru<string, { readonly since: number; readonly before: Lookup }>(MAX_LOGINS)

  const placeOf = ({ text, node, user, series, issuedAt, expiresAt }: ClaimedToken): Place => {
    const digest = (kind: string, value: string) =>
      createHmac('sha256', secret()).update(`${kind} ${node.length}:${node} ${value}`).digest('base64url')
    const [own, ofSeries] = [digest('token', text), digest('series', series)]
    return { own, series: ofSeries, tags: tagsOf(user), issuedAt, expiresAt }
  }

  /** Only the node can check the signature of a token that it has never accepted. */
  const askOfUnknown = (place: Place, before: Lookup, node: AskNode): Promise<boolean> => {
    // A call under way may have begun before a change that this request must see.
    const id = `${place.own} ${epochsText(before)}`
    const begun = unknown.get(id)
    if (begun !== undefined) return begun
    const since = clock.elapsed()
    const ask = async () => {
      const isAccepted = await node.askOfUnknown()
      if (isAccepted) await Promise.all([acceptances.addGenuine(place), acceptances.add(place, before, since)])
      return isAccepted
    }
    const asking = ask().finally(() => unknown.delete(id))
    unknown.set(id, asking)
    return asking
  }

  const check: AcceptedTokens['check'] = async (token, node) => {
    const place = placeOf(token)
    const [genuine, before] = await Promise.all([
      store.lookup(place.own, GENUINE_TAGS),
      store.lookup(place.series, place.tags),
    ])
    pace.note(place.series)
    const ofPlace = { current: () => acceptances.current(place) }
    const fresh = { ...ofPlace, noteAnswer: nothingToNote }
    if (genuine.kind !== 'hit') return (await askOfUnknown(place, before, node)) ? fresh : undefined
    if (checks.wasRefused(place)) return undefined
    const known = acceptedIn(before)
    const isCovered = known !== undefined && known.from <= place.issuedAt && known.age < pace.longest()
    if (!isCovered) return (await checks.ask(place, node)) ? fresh : undefined
    if (known.age < pace.interval()) return fresh
    const late = { ...ofPlace, noteAnswer: acceptances.noteLater(place, before) }
    if (!pace.take()) return late
    // While the node is slow or fails, the acceptance goes on until its end.
    const asking = checks.ask(place, node).catch(() => 'late' as const)
    const answer = await withTimeout(asking, LATE_CHECK_WAIT_MS, 'late' as const)
    if (answer === 'late') return late
    return answer ? fresh : undefined
  }

  return {
    check,
    beginLogin: async (user) => {
      const since = clock.elapsed()
      logins.set(user, { since, before: await store.lookup(`login ${user}`, tagsOf(user)) })
    },
    noteIssued: async (token, acceptedAgo) => {
      const place = placeOf(token)
      await acceptances.addGenuine(place)
      const begun = logins.get(token.user)
      const acceptedAt = clock.elapsed() - acceptedAgo
      if (begun === undefined || begun.since > acceptedAt) return
      const now = await store.lookup(place.series, place.tags)
      // A change since then may have ended the token, so that it must be checked.
      if (epochsText(begun.before) === epochsText(now)) await acceptances.add(place, now, acceptedAt)
    },
  }
}

/** Where a token and its series are stored. */
interface Place extends Pick<ClaimedToken, 'issuedAt' | 'expiresAt'> {
  readonly own: string
  readonly series: string
  readonly tags: readonly string[]
}

/** A request that waits for the check of its token. */
interface Waiter {
  readonly place: Place
  readonly node: AskNode
  resolve(isAccepted: boolean): void
  reject(error: unknown): void
}

/** Checks genuine tokens of a series together: one call at a time for each series. */
class SeriesChecks {
  readonly #options: Pick<AcceptedTokensOptions, 'store' | 'pace'>
  readonly #acceptances: Acceptances
  readonly #clock: Clock
  readonly #waiting = new Map<string, Waiter[]>()
  readonly #refusedUntil = growingLru<string, number>(MAX_REFUSED)

  constructor(options: Pick<AcceptedTokensOptions, 'store' | 'pace'>, acceptances: Acceptances, clock: Clock) {
    this.#options = options
    this.#acceptances = acceptances
    this.#clock = clock
  }

  /** Whether the node has refused the token lately. */
  wasRefused({ own }: Place): boolean {
    return (this.#refusedUntil.get(own) ?? Number.NEGATIVE_INFINITY) > this.#clock.elapsed()
  }

  /** Resolves to whether the token is good. Rejects as `node` does. */
  ask(place: Place, node: AskNode): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const waiter = { place, node, resolve, reject }
      const others = this.#waiting.get(place.series)
      if (others !== undefined) {
        others.push(waiter)
        return
      }
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
    const since = this.#clock.elapsed()
    const known = acceptedIn(before)
    const isKnown = known !== undefined && known.from <= place.issuedAt && known.age < pace.interval()
    if (isKnown || (await node.ask())) {
      if (!isKnown) await this.#acceptances.add(place, before, since)
      for (const { resolve } of round) resolve(true)
      return []
    }
    this.#refusedUntil.set(place.own, this.#clock.elapsed() + pace.interval())
    const isOfSame = (waiter: Waiter) => waiter.place.own === place.own
    for (const { resolve } of round.filter(isOfSame)) resolve(false)
    return round.filter((waiter) => !isOfSame(waiter))
  }
}

class Acceptances {
  readonly #store: AcceptedTokensOptions['store']
  readonly #pace: RecheckPace
  readonly #clock: Clock

  constructor(store: AcceptedTokensOptions['store'], pace: RecheckPace, clock: Clock) {
    this.#store = store
    this.#pace = pace
    this.#clock = clock
  }

  current(place: Place): Acceptance['noteAnswer'] | undefined {
    const lookup = this.#store.lookupLocal(place.series, place.tags)
    if (lookup === undefined) return undefined
    const known = acceptedIn(lookup)
    if (known === undefined || known.from > place.issuedAt || known.age >= this.#pace.interval()) return undefined
    return this.#isRecent(known) ? nothingToNote : this.noteLater(place, lookup)
  }

  /** Returns the function that notes the answer to a call that is sent from now on. */
  noteLater(place: Place, before: Lookup): Acceptance['noteAnswer'] {
    const since = this.#clock.elapsed()
    // Only a part of all answers, and none of them depends on it.
    return () => void this.add(place, before, since).catch(nothingToNote)
  }

  /** Stores that the node accepted the token after `since`, when `before` was looked up. */
  async add({ series: key, tags, issuedAt }: Place, before: Lookup, since: number): Promise<void> {
    const known = acceptedIn(this.#store.lookupLocal(key, tags) ?? before)
    // The acceptance of an older token covers more.
    if (known !== undefined && known.from < issuedAt && this.#isRecent(known)) return
    await this.#save({ key, tags, before, since, ttl: this.#pace.longest(), content: { from: issuedAt } })
  }

  async addGenuine({ own: key, expiresAt }: Place): Promise<void> {
    const since = this.#clock.elapsed()
    const before = await this.#store.lookup(key, GENUINE_TAGS)
    if (before.kind === 'hit') return
    await this.#save({ key, tags: GENUINE_TAGS, before, since, ttl: expiresAt - this.#clock.wall(), content: {} })
  }

  #isRecent({ age }: { readonly age: number }): boolean {
    return age < this.#pace.interval() / 2
  }

  async #save({ key, tags, before, since, ttl, content }: NewRecord): Promise<void> {
    if (before.kind === 'unavailable' || before.epochs.fenced || ttl <= 0) return
    const { generation, epochs, fenced } = before.epochs
    const response = {
      status: 200,
      body: Buffer.from(JSON.stringify(content)),
      etag: '""',
      forms: new StoredForms(),
      ttl,
      staleWhileRevalidate: 0,
      staleIfError: 0,
      fetchTime: this.#clock.elapsed() - since,
    }
    const info = { url: `${PATH}#${key.slice(0, 8)}`, group: 'manager', endpoint: PATH, scope: 'rights', tags } as const
    await this.#store.store({ key, tags, epochs: { generation, epochs, fenced }, response, info })
  }
}

interface NewRecord {
  readonly key: string
  readonly tags: readonly string[]
  /** What was looked up before the node answered, at `since`. */
  readonly before: Lookup
  readonly since: number
  readonly ttl: number
  readonly content: object
}

function nothingToNote(): void {}

function tagsOf(user: string): readonly string[] {
  return [RIGHTS_TAG, `${USER_TAG}${user}`]
}

/** Returns from which time of issue on tokens are good, and the milliseconds since the node was asked. */
function acceptedIn(lookup: Lookup): { readonly from: number; readonly age: number } | undefined {
  if (lookup.kind !== 'hit' || lookup.epochs.fenced) return undefined
  const { body, age, ttl } = lookup.response
  const from = ownField(parseJson(body), 'from')
  return typeof from === 'number' && age < ttl ? { from, age } : undefined
}

function epochsText(lookup: Lookup): string {
  if (lookup.kind === 'unavailable') return 'unavailable'
  const { generation, epochs, fenced } = lookup.epochs
  return `${generation} ${epochs.join(' ')} ${fenced}`
}
