/** When the problems of one replica begin an incident, and when it is over. */
import type { Problem } from './api-types.ts'
import { END_PAUSE_MS } from './incident-parts.ts'
import type { IncidentProblem } from './incident-types.ts'

/** A problem that is over within this time and does not return is no incident: one lost call, one slow step. */
const BEGIN_AFTER_MS = 3000

/** The problems of one replica, from the first error until none was found for a while. */
export class IncidentObserver {
  isOpen = false
  since = 0
  /** Set with the end. */
  until: number | undefined
  readonly #problems = new Map<string, IncidentProblem>()
  /** When the errors that are no incident yet were found first. They may come and go. */
  #pendingSince: number | undefined
  #lastErrorAt = 0

  /** The problems since the begin, also after the end. */
  get problems(): readonly IncidentProblem[] {
    return [...this.#problems.values()]
  }

  update(problems: readonly Problem[], at: number): 'begin' | 'end' | undefined {
    // Another problem is the reason why a replica is not ready, or its start or end.
    const errors = problems.filter(({ kind, severity }) => severity === 'error' && kind !== 'notReady')
    if (errors.length > 0) this.#lastErrorAt = at
    if (!this.isOpen) return this.#tryToOpen(errors, at)
    this.#take(errors)
    if (at - this.#lastErrorAt < END_PAUSE_MS) return undefined
    this.isOpen = false
    this.until = this.#lastErrorAt
    return 'end'
  }

  #tryToOpen(errors: readonly Problem[], at: number): 'begin' | undefined {
    if (at - this.#lastErrorAt >= END_PAUSE_MS) this.#pendingSince = undefined
    if (errors.length === 0) return undefined
    this.#pendingSince ??= at
    if (at - this.#pendingSince < BEGIN_AFTER_MS) return undefined
    this.isOpen = true
    this.since = this.#pendingSince
    this.until = undefined
    this.#pendingSince = undefined
    this.#problems.clear()
    this.#take(errors)
    return 'begin'
  }

  #take(errors: readonly Problem[]): void {
    for (const { kind, summary, view } of errors)
      this.#problems.set(kind, { kind, summary, ...(view !== undefined && { view }) })
  }
}
