import type { Lesson } from './limiter.ts'
import type { Failure } from './node-response.ts'
import type { EjectionSettings } from './options.ts'

/**
 * May a node be asked? After consecutive failures it is left alone for a while that grows each time; then one
 * call goes ahead (half-open), and its outcome decides for the others.
 */

export type Admission =
  | { readonly ok: true; readonly probe: boolean }
  /** Whole seconds. */
  | { readonly ok: false; readonly retryAfter: number }

export class Health {
  readonly #settings: EjectionSettings
  readonly #clock: () => number
  #failures = 0
  /** Endpoints whose answers could not be read since the last success. */
  readonly #unreadable = new Set<string>()
  #refusals = 0
  #ejections = 0
  #ejectedUntil: number | undefined
  #probedAt: number | undefined

  constructor(settings: EjectionSettings, clock: () => number) {
    this.#settings = settings
    this.#clock = clock
  }

  /** Milliseconds until the next probe may go; absent while the node is trusted. */
  get ejectedFor(): number | undefined {
    return this.#ejectedUntil === undefined ? undefined : Math.max(0, this.#ejectedUntil - this.#clock())
  }

  /** Would `admit` say yes? */
  get admits(): boolean {
    if (this.#ejectedUntil === undefined) return true
    // A probe may be a call without a time limit on a node that hangs: it does not bar the door for ever.
    const probing = this.#probedAt !== undefined && this.#clock() - this.#probedAt < this.#settings.longest
    return !probing && this.ejectedFor === 0
  }

  /** Who is admitted as the probe must report by `succeeded`, `failed` or `abandoned`. */
  admit(): Admission {
    if (this.#ejectedUntil === undefined) return { ok: true, probe: false }
    if (!this.admits) return { ok: false, retryAfter: Math.max(1, Math.ceil((this.ejectedFor ?? 0) / 1000)) }
    this.#probedAt = this.#clock()
    return { ok: true, probe: true }
  }

  /** Gives true when this ended an ejection. */
  succeeded(): boolean {
    const wasEjected = this.#ejectedUntil !== undefined
    this.#failures = 0
    this.#unreadable.clear()
    this.#refusals = 0
    this.#ejections = 0
    this.#ejectedUntil = undefined
    this.#probedAt = undefined
    return wasEjected
  }

  /**
   * Gives true when this began an ejection (or prolonged it, for a probe). Answers of one endpoint that cannot be
   * read count once, however many: the fault may be that endpoint's alone, and the others are still served. For the
   * same reason such an answer decides nothing as a probe; the next call is one.
   */
  failed(kind: 'refused' | 'failed' | 'unreadable', probe: boolean, endpoint: string): boolean {
    if (kind === 'unreadable' && probe) this.abandoned()
    else if (probe) return this.#eject()
    // Calls that were under way when the ejection began bring old news.
    if (this.#ejectedUntil !== undefined) return false
    if (kind === 'unreadable' && this.#unreadable.has(endpoint)) return false
    if (kind === 'unreadable') this.#unreadable.add(endpoint)
    this.#failures += 1
    this.#refusals = kind === 'refused' ? this.#refusals + 1 : 0
    const enough = this.#failures >= this.#settings.failures || this.#refusals >= this.#settings.refusals
    return enough && this.#eject()
  }

  /** The probe ended without a verdict (its client left): the next call is the probe. */
  abandoned(): void {
    this.#probedAt = undefined
  }

  /** Jitter keeps replicas from knocking all at once. */
  #eject(): true {
    const { shortest, longest } = this.#settings
    const back = Math.min(longest, shortest * 2 ** this.#ejections)
    this.#ejections += 1
    this.#probedAt = undefined
    this.#ejectedUntil = this.#clock() + back * (0.75 + Math.random() / 4)
    return true
  }
}

/** What the end of a call says of its node. */

/** `unreadable`: bad health if other endpoints show it too. */
export type Verdict = 'alive' | 'failed' | 'refused' | 'unreadable' | 'nothing'

/**
 * A bad password or a huge answer is the request's affair: the node is alive. A time-out, or a client that waited
 * no longer, counts only when the call spent half of its time on the node and not in our own line.
 */
export function judge(failure: Failure | undefined, timeout: number | undefined, spent: number): Verdict {
  switch (failure?.fault) {
    case undefined:
    case 'tooLarge':
    case 'refusedCredentials':
      return 'alive'
    case 'timeout':
    case 'cancelled':
      return spent >= (timeout ?? Number.POSITIVE_INFINITY) / 2 ? 'failed' : 'nothing'
    case 'unreadable':
      return 'unreadable'
    default:
      return failure?.refused ? 'refused' : 'failed'
  }
}

/** Refusals and unreadable answers are no sign of too much load. */
export function lessonOf(verdict: Verdict): Lesson {
  if (verdict === 'alive') return 'answered'
  return verdict === 'failed' ? 'strained' : 'nothing'
}
