/**
 * What is stored about the tokens of the manager's users: that a token is genuine, and from which time of issue on the tokens
 * of a series are good.
 */
import { createHmac } from 'node:crypto'
import type { BytesKey, BytesLookup, EpochStore, NewEntry } from '../cache/stores/contract.ts'
import type { TokenSubject } from '../core/access.ts'
import { bytesOf, type StoredBytes } from '../core/stored-response.ts'
import type { Clock } from '../core/timing.ts'
import { ownField, parseJson } from '../core/values.ts'
import type { RecheckPace } from './recheck-pace.ts'

/** What writes invalidate that end tokens: of any user, or of one (contracts/v4/security.ts). */
export const RIGHTS_TAG = 'rights'
const USER_TAG = 'tokens:'
/** No write invalidates this tag: a genuine token stays genuine. */
const GENUINE_TAGS = ['tokens'] as const

/** A token of the manager whose claims were read, but not verified. */
export interface ClaimedToken extends TokenSubject {
  readonly text: string
  /** The node that can have issued it. */
  readonly node: string
  /** The same text for all tokens with equal claims but for their times. */
  readonly series: string
  /** Milliseconds since 1970, in whole seconds unless the token says more. */
  readonly issuedAt: number
  readonly expiresAt: number
}

/** Where a token and its series are stored. */
export interface AcceptancePlace extends Pick<ClaimedToken, 'issuedAt' | 'expiresAt'> {
  readonly own: BytesKey
  readonly series: BytesKey
  readonly tags: readonly string[]
}

export interface StoredAcceptancesOptions {
  readonly store: EpochStore
  readonly secret: () => Buffer | string
  readonly pace: RecheckPace
  /** Whether accepted tokens stay good for reads while no node answers. Absent: they do not. */
  readonly hasOutageMode?: () => boolean
  readonly clock: Clock
}

export type StoredAcceptances = ReturnType<typeof createStoredAcceptances>

export function createStoredAcceptances({ store, secret, pace, hasOutageMode, clock }: StoredAcceptancesOptions) {
  const lookUpGenuine = ({ own }: AcceptancePlace) => store.lookup(own, GENUINE_TAGS)
  const lookUpSeries = ({ series, tags }: AcceptancePlace) => store.lookup(series, tags)
  /** As `lookUpSeries`, without a step to Redis; `undefined`: this process has no copy. */
  const lookUpLocal = ({ series, tags }: AcceptancePlace): BytesLookup | undefined => store.lookupLocal(series, tags)
  /** Whether it is not worth while to note another acceptance. */
  const isRecent = ({ age }: { readonly age: number }): boolean => age < pace.interval() / 2
  /** `before`: what was looked up before the node answered. */
  const save = async (before: BytesLookup, entry: Omit<NewEntry<StoredBytes, BytesKey>, 'epochs'>): Promise<void> => {
    if (before.kind === 'unavailable' || before.epochs.fenced || entry.stored.ttl <= 0) return
    await store.store({ ...entry, epochs: before.epochs })
  }
  return {
    placeOf: ({ text, node, user, series, issuedAt, expiresAt }: ClaimedToken): AcceptancePlace => {
      const digest = (kind: string, value: string): BytesKey => {
        const hmac = createHmac('sha256', secret()).update(`${kind} ${node.length}:${node} ${value}`)
        return `bytes:${hmac.digest('base64url')}`
      }
      const keys = { own: digest('token', text), series: digest('series', series) }
      return { ...keys, tags: tagsOfUser(user), issuedAt, expiresAt }
    },
    lookUpGenuine,
    lookUpSeries,
    lookUpLocal,
    isRecent,
    /** Whether the token was accepted, and no change since then may have ended it. */
    wasAccepted: async (place: AcceptancePlace): Promise<boolean> => {
      if (hasOutageMode?.() !== true) return false
      const from = fromIn(await lookUpSeries(place))
      return from !== undefined && from <= place.issuedAt
    },
    /**
     * Stores that the node accepted the token after `before` was looked up. `initialAge`: milliseconds before that lookup at
     * which the call for it began.
     */
    add: async (place: AcceptancePlace, before: BytesLookup, initialAge = 0): Promise<void> => {
      const { series, tags, issuedAt, expiresAt } = place
      const known = acceptedIn(lookUpLocal(place) ?? before)
      // The acceptance of an older token covers more.
      if (known !== undefined && known.from < issuedAt && isRecent(known)) return
      const ttl = pace.longest()
      const left = hasOutageMode?.() === true ? expiresAt - clock.wall() - ttl : 0
      const stored = bytesOf({ from: issuedAt }, ttl, Math.max(0, left))
      await save(before, { key: series, tags, stored, initialAge })
    },
    addGenuine: async (place: AcceptancePlace, issuedAt: number): Promise<void> => {
      const before = await lookUpGenuine(place)
      if (before.kind === 'hit') return
      const stored = bytesOf({ issuedAt }, place.expiresAt - clock.wall())
      await save(before, { key: place.own, tags: GENUINE_TAGS, stored })
    },
  }
}

/** Returns the milliseconds since the node accepted a token by which this one is good; Infinity: there is no such acceptance. */
export function ageOfAcceptance({ issuedAt }: AcceptancePlace, lookup: BytesLookup): number {
  const known = acceptedIn(lookup)
  return known !== undefined && known.from <= issuedAt ? known.age : Number.POSITIVE_INFINITY
}

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

/** Returns the latest time at which a genuine token can have been issued; `undefined`: no replica has noted it. */
export function issuedAtIn(lookup: BytesLookup): number | undefined {
  const noted = lookup.kind === 'hit' ? ownField(parseJson(lookup.response.body), 'issuedAt') : undefined
  return typeof noted === 'number' ? noted : undefined
}

/** The tags of what depends on the rights of a user. */
export function tagsOfUser(user: string): readonly string[] {
  return [RIGHTS_TAG, `${USER_TAG}${user}`]
}
