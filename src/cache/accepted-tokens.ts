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
import { type Clock, systemClock, withTimeout } from '../core/timing.ts'
import {
  type Acceptance,
  type AcceptanceStore,
  Acceptances,
  acceptedIn,
  type ClaimedToken,
  GENUINE_TAGS,
  nothingToNote,
  type Place,
  type RecheckPace,
} from './token-acceptances.ts'
import { type AskNode, SeriesChecks } from './token-series-checks.ts'

/** What writes invalidate that end tokens: of any user, or of one (catalogue/newer-contract/security.ts). */
const RIGHTS_TAG = 'rights'
const USER_TAG = 'tokens:'
/** Users whose last login is remembered. */
const MAX_LOGINS = 10_000
/** A request waits this long for a check that may be late, in milliseconds. */
const LATE_CHECK_WAIT_MS = 1_000

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

export interface AcceptedTokensOptions {
  readonly store: AcceptanceStore
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

function tagsOf(user: string): readonly string[] {
  return [RIGHTS_TAG, `${USER_TAG}${user}`]
}

function epochsText(lookup: Lookup): string {
  if (lookup.kind === 'unavailable') return 'unavailable'
  const { generation, epochs, fenced } = lookup.epochs
  return `${generation} ${epochs.join(' ')} ${fenced}`
}
