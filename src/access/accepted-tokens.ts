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

import type { BytesLookup } from '../cache/stores/contract.ts'
import { epochsText } from '../cache/stores/epochs.ts'
import type { HasEnded } from '../core/access.ts'
import { isOutageFailure } from '../core/error-meanings.ts'
import { EdgeError } from '../core/errors.ts'
import { faultRules, type NodeFault } from '../core/node-faults.ts'
import { growingLru } from '../core/recently-used.ts'
import { type Clock, systemClock, withTimeout } from '../core/timing.ts'
import { ownField } from '../core/values.ts'
import {
  type AcceptancePlace,
  acceptedIn,
  type ClaimedToken,
  issuedAtIn,
  StoredAcceptances,
  type StoredAcceptancesOptions,
  tagsOfUser,
} from './stored-acceptances.ts'

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

/** A request that waits for the check of its token. */
interface Waiter {
  readonly place: AcceptancePlace
  readonly node: AskNode
  resolve(isAccepted: boolean): void
  reject(error: unknown): void
}

interface AcceptedTokensOptions extends Omit<StoredAcceptancesOptions, 'clock'> {
  readonly hasEnded: HasEnded
  readonly clock?: Clock
}

export class AcceptedTokens {
  readonly #options: AcceptedTokensOptions
  readonly #clock: Clock
  readonly #stored: StoredAcceptances
  readonly #logins = growingLru<string, { readonly since: number; readonly before: BytesLookup }>(MAX_LOGINS)
  /** Calls for tokens that nothing is known of. */
  readonly #unknown = new Map<string, Promise<boolean>>()
  /** Who waits for the next call for a genuine token, by series. */
  readonly #waiting = new Map<string, Waiter[]>()
  readonly #refusedUntil = growingLru<string, number>(MAX_REFUSED)

  constructor(options: AcceptedTokensOptions) {
    this.#options = options
    this.#clock = options.clock ?? systemClock
    this.#stored = new StoredAcceptances({ ...options, clock: this.#clock })
  }

  /**
   * Resolves to the acceptance of a token: a known one of any replica, or what the node answers now. Resolves to `undefined`
   * for a token that the node refuses, and rejects as `node` does.
   */
  async check(token: ClaimedToken, node: AskNode): Promise<Acceptance | undefined> {
    const { pace, hasEnded } = this.#options
    const place = this.#stored.placeOf(token)
    const { user, roles } = token
    const [genuine, before] = await Promise.all([this.#stored.lookUpGenuine(place), this.#stored.lookUpSeries(place)])
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
        if (isOutage(error) && (await this.#stored.wasAccepted(place))) return ONLY_FOR_READS
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
    const place = this.#stored.placeOf(token)
    await this.#stored.addGenuine(place, issuedAt)
    const begun = this.#logins.get(token.user)
    const acceptedAt = this.#clock.elapsed() - acceptedAgo
    if (begun === undefined || begun.since > acceptedAt) return
    const now = await this.#stored.lookUpSeries(place)
    // A change since then may have ended the token, so that it must be checked.
    if (epochsText(begun.before) === epochsText(now))
      await this.#stored.add(place, now, this.#clock.elapsed() - acceptedAt)
  }

  /** Only the node can check the signature of a token that it has never accepted. */
  #askOfUnknown(place: AcceptancePlace, issuedAt: number, before: BytesLookup, node: AskNode): Promise<boolean> {
    // A call under way may have begun before a change that this request must see.
    const id = `${place.own} ${epochsText(before)}`
    const begun = this.#unknown.get(id)
    if (begun !== undefined) return begun
    const ask = async () => {
      const isAccepted = await node.askOfUnknown()
      if (isAccepted) await Promise.all([this.#stored.addGenuine(place, issuedAt), this.#stored.add(place, before)])
      return isAccepted
    }
    const asking = ask().finally(() => this.#unknown.delete(id))
    this.#unknown.set(id, asking)
    return asking
  }

  /** Asks about genuine tokens of a series together: one call at a time. Resolves to whether the token is good. */
  #ask(place: AcceptancePlace, node: AskNode): Promise<boolean> {
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
    const { pace } = this.#options
    const { place, node } = round.reduce((a, b) => (b.place.issuedAt < a.place.issuedAt ? b : a))
    const before = await this.#stored.lookUpSeries(place)
    const known = acceptedIn(before)
    const isKnown = known !== undefined && known.from <= place.issuedAt && known.age < pace.interval()
    if (isKnown || (await node.ask(true))) {
      if (!isKnown) await this.#stored.add(place, before)
      for (const { resolve } of round) resolve(true)
      return []
    }
    this.#refusedUntil.set(place.own, this.#clock.elapsed() + pace.interval())
    const isOfSame = (waiter: Waiter) => waiter.place.own === place.own
    for (const { resolve } of round.filter(isOfSame)) resolve(false)
    return round.filter((waiter) => !isOfSame(waiter))
  }

  #current(place: AcceptancePlace): Acceptance['noteAnswer'] | undefined {
    const lookup = this.#stored.lookUpLocal(place)
    if (lookup === undefined) return undefined
    const known = acceptedIn(lookup)
    if (known === undefined || known.from > place.issuedAt || known.age >= this.#options.pace.interval())
      return undefined
    return this.#stored.isRecent(known) ? nothingToNote : this.#noteLater(place, lookup)
  }

  /** Returns the function that notes the answer to a call that is sent from now on. `before`: what was just looked up. */
  #noteLater(place: AcceptancePlace, before: BytesLookup): Acceptance['noteAnswer'] {
    // Only a part of all answers, and none of them depends on it.
    return () => void this.#stored.add(place, before).catch(nothingToNote)
  }
}

function nothingToNote(): void {}

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

/** As far as its claims show, whose times are whole seconds of the clock of the node. Milliseconds since 1970. */
export function latestIssueOf({ issuedAt }: Pick<ClaimedToken, 'issuedAt'>, clock: Pick<Clock, 'wall'>): number {
  return Math.min(issuedAt + 999, clock.wall())
}
