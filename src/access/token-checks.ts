/**
 * The calls by which the master is asked about tokens: one at a time for all tokens of a series, and for each token of which
 * nothing is known.
 */

import type { BytesLookup } from '../cache/stores/contract.ts'
import { epochsText } from '../cache/stores/epochs.ts'
import { growingLru } from '../core/recently-used.ts'
import type { Clock } from '../core/timing.ts'
import type { RecheckPace } from './recheck-pace.ts'
import { type AcceptancePlace, ageOfAcceptance, type StoredAcceptances } from './stored-acceptances.ts'

/** Tokens whose refusal is remembered. */
const MAX_REFUSED = 10_000

/** How the master is asked about a token. */
export interface AskNode {
  /** Resolves to whether the master accepts a token. `isAwaited`: whether a request waits for it. */
  ask(isAwaited: boolean): Promise<boolean>
  /** As `ask`, for a token that nothing is known of: it may be made up. */
  askOfUnknown(): Promise<boolean>
}

interface UnknownToken {
  readonly place: AcceptancePlace
  /** The latest time at which it can have been issued. */
  readonly issuedAt: number
  readonly before: BytesLookup
  readonly node: AskNode
}

/** A request that waits for the check of its token. */
interface Waiter {
  readonly place: AcceptancePlace
  readonly node: AskNode
  resolve(isAccepted: boolean): void
  reject(error: unknown): void
}

interface TokenCheckOptions {
  readonly stored: StoredAcceptances
  readonly pace: RecheckPace
  readonly clock: Clock
}

export class TokenChecks {
  readonly #options: TokenCheckOptions
  /** Calls for tokens that nothing is known of. */
  readonly #unknown = new Map<string, Promise<boolean>>()
  /** Who waits for the next call for a genuine token, by series. */
  readonly #waiting = new Map<string, Waiter[]>()
  readonly #refusedUntil = growingLru<string, number>(MAX_REFUSED)

  constructor(options: TokenCheckOptions) {
    this.#options = options
  }

  /** Whether the master has refused this genuine token a moment ago. */
  isRefused({ own }: AcceptancePlace): boolean {
    return this.#options.clock.elapsed() < (this.#refusedUntil.get(own) ?? 0)
  }

  /** Only the node can check the signature of a token that it has never accepted. */
  askOfUnknown({ place, issuedAt, before, node }: UnknownToken): Promise<boolean> {
    // A call under way may have begun before a change that this request must see.
    const id = `${place.own} ${epochsText(before)}`
    const begun = this.#unknown.get(id)
    if (begun !== undefined) return begun
    const { stored } = this.#options
    const ask = async () => {
      const isAccepted = await node.askOfUnknown()
      if (isAccepted) await Promise.all([stored.addGenuine(place, issuedAt), stored.add(place, before)])
      return isAccepted
    }
    const asking = ask().finally(() => this.#unknown.delete(id))
    this.#unknown.set(id, asking)
    return asking
  }

  /** Asks about genuine tokens of a series together: one call at a time. Resolves to whether the token is good. */
  ask(place: AcceptancePlace, node: AskNode): Promise<boolean> {
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
    const { stored, pace, clock } = this.#options
    const { place, node } = round.reduce((a, b) => (b.place.issuedAt < a.place.issuedAt ? b : a))
    const before = await stored.lookUpSeries(place)
    const isKnown = ageOfAcceptance(place, before) < pace.interval()
    if (isKnown || (await node.ask(true))) {
      if (!isKnown) await stored.add(place, before)
      for (const { resolve } of round) resolve(true)
      return []
    }
    this.#refusedUntil.set(place.own, clock.elapsed() + pace.interval())
    const isOfSame = (waiter: Waiter) => waiter.place.own === place.own
    for (const { resolve } of round.filter(isOfSame)) resolve(false)
    return round.filter((waiter) => !isOfSame(waiter))
  }
}
