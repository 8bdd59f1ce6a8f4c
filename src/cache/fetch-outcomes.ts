/** How the last fetch of each response ended, which decides whether the next one is awaited, and when it begins. */
import { errorNumberOf } from '../core/envelope.ts'
import { isOutageFailure, OVERLOADED } from '../core/error-meanings.ts'
import { growingLru } from '../core/recently-used.ts'
import type { Lookup } from '../core/stored-response.ts'
import { staleRuleOf } from './lifetimes.ts'
import type { CachePorts, FetchResult, ReadContext } from './read-context.ts'
import { usualLifetime } from './stores/local-entries.ts'

/** After a failed or incomplete fetch, the next refresh begins this much later. */
const RETRY_PAUSE_MS = 1000
const MAX_KEYS = 10_000
/** An outage counts as over this long after the last fetch that found no node. */
const OUTAGE_END_MS = 10_000
/** No node can be called. */
export const NO_NODE = 920

/** The error of a failed fetch, and when it ended. */
interface Failure {
  readonly code: number
  readonly at: number
}

export class FetchOutcomes {
  readonly #clock: () => number
  readonly #outageFor: CachePorts['outageFor']
  readonly #failures = growingLru<string, Failure>(MAX_KEYS)
  readonly #refusedUntil = growingLru<string, number>(MAX_KEYS)
  readonly #pausedUntil = growingLru<string, number>(MAX_KEYS)

  /** When the latest fetch failed while no node answered. */
  #outageAt = Number.NEGATIVE_INFINITY

  constructor({ clock, outageFor }: Pick<CachePorts, 'clock' | 'outageFor'>) {
    this.#clock = clock
    this.#outageFor = outageFor
  }

  /** Whether fetches fail because no node answers, or did so a short time ago, and later than the response was fetched. */
  isInOutage(lookup?: Lookup): boolean {
    const since = this.#clock() - this.#outageAt
    return since < OUTAGE_END_MS && (lookup?.kind !== 'hit' || lookup.age > since)
  }

  /** Returns the error of the last fetch, if it failed within this time. */
  lastFailure(key: string, ms = Number.POSITIVE_INFINITY): number | undefined {
    const failure = this.#failures.get(key)
    return failure !== undefined && this.#clock() - failure.at < ms ? failure.code : undefined
  }

  isRefused(key: string): boolean {
    return this.#clock() < (this.#refusedUntil.get(key) ?? 0)
  }

  /** Whether the next refresh must not begin yet. */
  isPaused(key: string): boolean {
    return this.lastFailure(key, RETRY_PAUSE_MS) !== undefined || this.#clock() < (this.#pausedUntil.get(key) ?? 0)
  }

  pause(key: string): void {
    this.#pausedUntil.set(key, this.#clock() + RETRY_PAUSE_MS)
  }

  note(context: ReadContext, result: FetchResult): void {
    const { key } = context.target
    if (result.kind === 'failed') this.noteFailure(context, result.code)
    else this.#failures.delete(key)
    if (result.kind === 'cacheable') this.#refusedUntil.delete(key)
    if (result.kind === 'refused') this.#noteRefusal(context)
    if (result.kind === 'uncacheable') this.pause(key)
  }

  noteFailure(context: ReadContext, code: number): void {
    const { target, lookup } = context
    const at = this.#clock()
    // A read of one node or one agent fails so too while the other nodes answer.
    if (isOutageFailure(code) && this.#outageFor?.() !== undefined) this.#outageAt = at
    const before = this.#failures.get(target.key)?.code
    // That many responses are refreshed at once does not end what was known.
    const known = code === OVERLOADED && this.isInOutage() ? (before ?? NO_NODE) : code
    this.#failures.set(target.key, { code: known, at })
    const errorNumber = lookup.kind === 'hit' ? errorNumberOf(lookup.response) : 0
    if (staleRuleOf(target.policy, errorNumber) === 'whileHot') this.#noteRefusal(context)
  }

  /** Until the stored response expires: a shorter time would serve old responses and errors in turn. */
  #noteRefusal({ target, lookup }: ReadContext): void {
    if (lookup.kind !== 'hit') return
    this.#refusedUntil.set(target.key, this.#clock() + Math.max(0, usualLifetime(lookup.response) - lookup.age))
  }
}
