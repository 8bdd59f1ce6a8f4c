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
  ageOfAcceptance,
  type ClaimedToken,
  createStoredAcceptances,
  issuedAtIn,
  type StoredAcceptances,
  type StoredAcceptancesOptions,
  tagsOfUser,
} from './stored-acceptances.ts'
import { type AskNode, TokenChecks } from './token-checks.ts'

/** Users whose last login is remembered. */
const MAX_LOGINS = 10_000
/** A request waits this long for a check that may be late, in milliseconds. */
const LATE_CHECK_WAIT_MS = 1_000

export interface Acceptance {
  /** No node answers, so that the token is good for reads only: nothing shows whether the manager has ended it. */
  readonly isOnlyForReads?: true
  /** To be called when the node has answered a call that carried the token: the answer is a check as well. */
  readonly noteAnswer: () => void
  /**
   * Returns `noteAnswer` for a further request; `undefined`: the token must be checked again. It never asks a node or Redis.
   */
  current(): Acceptance['noteAnswer'] | undefined
}

interface AcceptedTokensOptions extends Omit<StoredAcceptancesOptions, 'clock'> {
  readonly hasEnded: HasEnded
  readonly clock?: Clock
}

export class AcceptedTokens {
  readonly #options: AcceptedTokensOptions
  readonly #clock: Clock
  readonly #stored: StoredAcceptances
  readonly #checks: TokenChecks
  readonly #logins = growingLru<string, { readonly since: number; readonly before: BytesLookup }>(MAX_LOGINS)

  constructor(options: AcceptedTokensOptions) {
    this.#options = options
    this.#clock = options.clock ?? systemClock
    this.#stored = createStoredAcceptances({ ...options, clock: this.#clock })
    this.#checks = new TokenChecks({ stored: this.#stored, pace: options.pace, clock: this.#clock })
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
    if (genuine.kind !== 'hit')
      return (await this.#checks.askOfUnknown({ place, issuedAt, before, node })) ? fresh : undefined
    if (this.#checks.isRefused(place)) return undefined
    const age = ageOfAcceptance(place, before)
    if (age >= pace.longest()) {
      try {
        return (await this.#checks.ask(place, node)) ? fresh : undefined
      } catch (error) {
        if (isOutage(error) && (await this.#stored.wasAccepted(place))) return ONLY_FOR_READS
        throw error
      }
    }
    if (age < pace.interval()) return fresh
    const late = { current, noteAnswer: this.#noteLater(place, before) }
    if (!pace.take()) return late
    // While the node is slow or fails, the acceptance goes on until its end.
    const isAwaited = !pace.isBusy()
    const asking = this.#checks.ask(place, { ...node, ask: () => node.ask(isAwaited) }).catch(() => 'late' as const)
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

  #current(place: AcceptancePlace): Acceptance['noteAnswer'] | undefined {
    const lookup = this.#stored.lookUpLocal(place)
    if (lookup === undefined) return undefined
    const age = ageOfAcceptance(place, lookup)
    if (age >= this.#options.pace.interval()) return undefined
    return this.#stored.isRecent({ age }) ? nothingToNote : this.#noteLater(place, lookup)
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
