/** Acceptances of tokens as stored responses of the cache. `accepted-tokens.ts` says what they mean. */
import type { Lookup } from '../core/response.ts'
import { StoredForms } from '../core/stored-forms.ts'
import type { Clock } from '../core/timing.ts'
import { ownField, parseJson } from '../core/values.ts'
import type { CacheStore } from './stores/contract.ts'

/** No write invalidates this tag: a genuine token stays genuine. */
export const GENUINE_TAGS = ['tokens'] as const
const PATH = '/security/user/authenticate'

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

export type AcceptanceStore = Pick<CacheStore, 'lookup' | 'lookupLocal' | 'store'>

/** Where a token and its series are stored. */
export interface Place extends Pick<ClaimedToken, 'issuedAt' | 'expiresAt'> {
  readonly own: string
  readonly series: string
  readonly tags: readonly string[]
}

export class Acceptances {
  readonly #store: AcceptanceStore
  readonly #pace: RecheckPace
  readonly #clock: Clock

  constructor(store: AcceptanceStore, pace: RecheckPace, clock: Clock) {
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

export function nothingToNote(): void {}

/** Returns from which time of issue on tokens are good, and the milliseconds since the node was asked. */
export function acceptedIn(lookup: Lookup): { readonly from: number; readonly age: number } | undefined {
  if (lookup.kind !== 'hit' || lookup.epochs.fenced) return undefined
  const { body, age, ttl } = lookup.response
  const from = ownField(parseJson(body), 'from')
  return typeof from === 'number' && age < ttl ? { from, age } : undefined
}
