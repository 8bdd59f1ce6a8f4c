/** Which replica sends the notices of incidents, and which notice is due. */
import { END_PAUSE_MS } from './incident-parts.ts'
import type { Incident, IncidentNotice } from './incident-types.ts'

/** A notice that was sent. `since`: of the incident, as it was known then. */
export interface Announced {
  readonly event: IncidentNotice['event']
  readonly since: number
  readonly at: number
}

/** What the announcer of another replica reports. */
interface AnnouncerReport {
  readonly run: string
  readonly announced?: Announced
}

/** An end is announced later than it is found: another replica may have found a problem meanwhile, and reports it soon. */
const ANNOUNCE_END_AFTER_MS = END_PAUSE_MS + 6000
/** A replica that has exchanged no report by then since its start sends. */
const SEND_ALONE_AFTER_MS = 30_000

export class IncidentAnnouncer {
  readonly #run: string
  readonly #startedAt: number
  /** Undefined before the first exchange. While Redis is unreachable, the replicas of the last exchange. */
  #otherRuns: readonly string[] | undefined
  #latest: Announced | undefined

  /** `isAlone`: replicas share nothing. */
  constructor(run: string, startedAt: number, isAlone: boolean) {
    this.#run = run
    this.#startedAt = startedAt
    this.#otherRuns = isAlone ? [] : undefined
  }

  /** The newest notice that a replica sent. */
  get latest(): Announced | undefined {
    return this.#latest
  }

  /** Takes what the other replicas reported. */
  offer(reports: readonly AnnouncerReport[]): void {
    this.#otherRuns = reports.map(({ run }) => run)
    for (const { announced } of reports) if ((announced?.at ?? 0) > (this.#latest?.at ?? 0)) this.#latest = announced
  }

  /** Sends the notice that is due, if this replica is the one that sends. `incidents`: newest first. */
  announce(incidents: readonly Incident[], at: number, notify: (notice: IncidentNotice) => boolean): void {
    const incident = this.#isSender(at) ? this.#incidentToAnnounce(incidents, at) : undefined
    if (incident === undefined) return
    const { since, text, until } = incident
    const event = until === undefined ? 'begin' : 'end'
    if (notify({ event, text, incident })) this.#latest = { event, since, at }
  }

  /** One replica sends, and each of them finds the same one. */
  #isSender(at: number): boolean {
    if (this.#otherRuns === undefined) return at - this.#startedAt > SEND_ALONE_AFTER_MS
    return this.#otherRuns.every((run) => this.#run < run)
  }

  #incidentToAnnounce(incidents: readonly Incident[], at: number): Incident | undefined {
    const [newest] = incidents
    const announced = this.#latest
    const isOpen = announced?.event === 'begin'
    // The end of an incident is sent before the begin of the next one.
    const earlier = isOpen ? incidents.find(({ since }) => since === announced.since) : undefined
    if (earlier?.until !== undefined && earlier !== newest) return earlier
    if (newest === undefined) return undefined
    const isKnown = announced !== undefined && announced.since >= newest.since
    if (newest.until === undefined) return isKnown && isOpen ? undefined : newest
    return isKnown && isOpen && at - newest.until >= ANNOUNCE_END_AFTER_MS ? newest : undefined
  }
}
