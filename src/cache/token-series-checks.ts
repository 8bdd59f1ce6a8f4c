/** Asks the master about tokens of a series: tokens that differ in their times only (`accepted-tokens.ts`). */
import { growingLru } from '../core/recently-used.ts'
import type { Clock } from '../core/timing.ts'
import {
  type AcceptanceStore,
  type Acceptances,
  acceptedIn,
  type Place,
  type RecheckPace,
} from './token-acceptances.ts'

/** Tokens whose refusal is remembered. */
const MAX_REFUSED = 10_000

/** How the master is asked about a token. */
export interface AskNode {
  /** Resolves to whether the master accepts a token. */
  ask(): Promise<boolean>
  /** As `ask`, for a token that nothing is known of: it may be made up. */
  askOfUnknown(): Promise<boolean>
}

/** A request that waits for the check of its token. */
interface Waiter {
  readonly place: Place
  readonly node: AskNode
  resolve(isAccepted: boolean): void
  reject(error: unknown): void
}

interface SeriesCheckOptions {
  readonly store: AcceptanceStore
  readonly pace: RecheckPace
}

/** Checks genuine tokens of a series together: one call at a time for each series. */
export class SeriesChecks {
  readonly #options: SeriesCheckOptions
  readonly #acceptances: Acceptances
  readonly #clock: Clock
  readonly #waiting = new Map<string, Waiter[]>()
  readonly #refusedUntil = growingLru<string, number>(MAX_REFUSED)

  constructor(options: SeriesCheckOptions, acceptances: Acceptances, clock: Clock) {
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
