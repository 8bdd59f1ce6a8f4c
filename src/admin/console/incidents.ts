/**
 * Incidents: when something breaks and when it is over. Each replica observes its own problems and requests. The replicas
 * exchange what they saw with their reports, so each of them derives the same incidents, and one of them sends the notices.
 */
import { randomUUID } from 'node:crypto'
import { type Static, Type } from 'typebox'
import { validatorOf } from '../validation.ts'
import type { Problem } from './api-types.ts'
import type { CallerCounts } from './caller-counts.ts'
import { type HistoryStore, INCIDENT_SERIES } from './history-records.ts'
import type { Incident, IncidentNotice, IncidentProblem } from './history-types.ts'
import {
  createPart,
  decodePart,
  END_PAUSE_MS,
  type IncidentPart,
  incidentsOf,
  keyOf,
  partSchema,
  timeSchema,
} from './incident-parts.ts'

export interface IncidentsOptions {
  /** Name of this replica. */
  readonly name: string
  /** Names this process. Absent: a random name; tests choose which of several replicas sends. */
  readonly run?: string
  readonly problems: () => readonly Problem[]
  readonly callers: Pick<CallerCounts, 'beginIncident' | 'affected' | 'endIncident'>
  /** Absent: replicas share nothing. */
  readonly store?: HistoryStore | undefined
  /** Sends a notice. Returns false if no webhook is configured. */
  readonly notify: (notice: IncidentNotice) => boolean
  /** Begin and end of what this replica sees. `problems`: their texts. */
  readonly onChange: (event: IncidentNotice['event'], problems: string) => void
  /** Milliseconds since 1970. */
  readonly now?: () => number
}

const UPDATE_INTERVAL_MS = 1000
const MAX_INCIDENTS = 50
/** A problem that is over within this time and does not return is no incident: one lost call, one slow step. */
const BEGIN_AFTER_MS = 3000
/** An end is announced later than it is found: another replica may have found a problem meanwhile, and reports it soon. */
const ANNOUNCE_END_AFTER_MS = END_PAUSE_MS + 6000
/** A replica that has exchanged no report by then since its start sends. */
const SEND_ALONE_AFTER_MS = 30_000
/** Parts in memory, in the report of one replica, and how long a part that is over is reported. */
const MAX_PARTS = 200
const MAX_REPORTED_PARTS = 2
const REPORTED_MS = 60_000
/** A part that its replica does not report any more has ended. */
const LOST_AFTER_MS = 30_000

/** What a replica reports to the others. */
const reportSchema = Type.Object({
  run: Type.String({ maxLength: 40 }),
  /** What it sees now, and what it saw until a short time ago. */
  parts: Type.Array(partSchema, { maxItems: MAX_REPORTED_PARTS }),
  /** The newest notice that a replica sent. `since`: of the incident, as it was known then. */
  announced: Type.Optional(Type.Object({ event: Type.Enum(['begin', 'end']), since: timeSchema, at: timeSchema })),
})
type IncidentReport = Static<typeof reportSchema>
/** Other programs may write to this Redis, so a report is validated before it is used. */
const isReport = validatorOf(reportSchema)

/** What this replica sees, from the first error until none was found for a while. */
interface OpenPart {
  readonly since: number
  readonly problems: Map<string, IncidentProblem>
}

export class ConsoleIncidents {
  readonly #options: IncidentsOptions
  readonly #run: string
  readonly #now: () => number
  readonly #startedAt: number
  readonly #timer: NodeJS.Timeout
  /** The newest parts of this replica and of the others. */
  readonly #parts = new Map<string, { readonly part: IncidentPart; readonly seenAt: number }>()
  #open: OpenPart | undefined
  /** When the errors that are no incident yet were found first. They may come and go. */
  #pendingSince: number | undefined
  #lastErrorAt = 0
  /** Undefined before the first exchange. While Redis is unreachable, the replicas of the last exchange. */
  #otherRuns: readonly string[] | undefined
  #announced: IncidentReport['announced']

  constructor(options: IncidentsOptions) {
    const { run = randomUUID(), now = Date.now, store } = options
    this.#options = options
    this.#run = run
    this.#now = now
    this.#startedAt = now()
    this.#otherRuns = store === undefined ? [] : undefined
    this.#timer = setInterval(() => this.update(), UPDATE_INTERVAL_MS).unref()
  }

  /** Looks for changes. The edge does each second. */
  update(): void {
    const at = this.#now()
    this.#observe(at)
    this.#announce(at)
  }

  /** Returns what the other replicas need. */
  report(): IncidentReport {
    const oldest = this.#now() - REPORTED_MS
    const own = [...this.#parts.values()].map(({ part }) => part).filter(({ run }) => run === this.#run)
    const parts = own.filter(({ until = Number.POSITIVE_INFINITY }) => until > oldest).slice(-MAX_REPORTED_PARTS)
    return { run: this.#run, parts, ...(this.#announced && { announced: this.#announced }) }
  }

  /** Takes what the other replicas reported. Undefined: Redis is unreachable. Reports that are not valid are skipped. */
  offer(reports: readonly unknown[] | undefined): void {
    if (reports === undefined) return
    const others = reports.filter(isReport).filter(({ run }) => run !== this.#run)
    this.#otherRuns = others.map(({ run }) => run)
    for (const { parts, announced } of others) {
      for (const part of parts) this.#add(part)
      if ((announced?.at ?? 0) > (this.#announced?.at ?? 0)) this.#announced = announced
    }
  }

  /** Returns the incidents of the last days, newest first. Never rejects because of Redis. */
  async read(): Promise<readonly Incident[]> {
    const to = this.#now() / 1000 + 1
    const texts = (await this.#options.store?.read(INCIDENT_SERIES, to - INCIDENT_SERIES.lifetime, to)) ?? []
    const stored = texts.flatMap((text) => decodePart(text) ?? [])
    return incidentsOf([...stored, ...this.#known(this.#now())]).slice(0, MAX_INCIDENTS)
  }

  /** Stores what this replica sees until now, and ends. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    if (this.#open !== undefined) await this.#save(this.#partOf(this.#open, this.#now()))
  }

  /** Begins, continues or ends the part of this replica. */
  #observe(at: number): void {
    const { problems, callers, onChange } = this.#options
    // Another problem is the reason why a replica is not ready, or its start or end.
    const errors = problems().filter(({ kind, severity }) => severity === 'error' && kind !== 'notReady')
    if (errors.length > 0) this.#lastErrorAt = at
    const isOver = at - this.#lastErrorAt >= END_PAUSE_MS
    if (isOver) this.#pendingSince = undefined
    const known = this.#open
    const open = known ?? this.#begin(errors, at)
    if (open === undefined) return
    for (const { kind, summary, view } of errors) open.problems.set(kind, { kind, summary, ...(view && { view }) })
    const texts = [...open.problems.values()].map(({ summary }) => summary).join('; ')
    if (known === undefined) onChange('begin', texts)
    const part = this.#partOf(open, isOver ? this.#lastErrorAt : undefined)
    this.#add(part)
    if (!isOver) return
    this.#open = undefined
    void this.#save(part)
    callers.endIncident()
    onChange('end', texts)
  }

  #begin(errors: readonly Problem[], at: number): OpenPart | undefined {
    if (errors.length === 0) return undefined
    this.#pendingSince ??= at
    if (at - this.#pendingSince < BEGIN_AFTER_MS) return undefined
    this.#open = { since: this.#options.callers.beginIncident(this.#pendingSince), problems: new Map() }
    this.#pendingSince = undefined
    return this.#open
  }

  #partOf({ since, problems }: OpenPart, until: number | undefined): IncidentPart {
    const { name: replica, callers } = this.#options
    const times = { since, ...(until !== undefined && { until }) }
    return createPart({ run: this.#run, replica, ...times, problems: [...problems.values()] }, callers.affected)
  }

  async #save(part: IncidentPart): Promise<void> {
    await this.#options.store?.add(INCIDENT_SERIES, [{ seconds: part.since / 1000, text: JSON.stringify(part) }])
  }

  #add(part: IncidentPart): void {
    const key = keyOf(part)
    this.#parts.delete(key)
    this.#parts.set(key, { part, seenAt: this.#now() })
    const [oldest] = this.#parts.keys()
    if (this.#parts.size > MAX_PARTS && oldest !== undefined) this.#parts.delete(oldest)
  }

  #known(at: number): readonly IncidentPart[] {
    return [...this.#parts.values()].map(({ part, seenAt }) =>
      part.until === undefined && at - seenAt > LOST_AFTER_MS ? { ...part, until: seenAt } : part,
    )
  }

  /** Sends the notice that is due, if this replica is the one that sends. */
  #announce(at: number): void {
    const incident = this.#isSender(at) ? findUnannounced(incidentsOf(this.#known(at)), this.#announced, at) : undefined
    if (incident === undefined) return
    const { since, text, until } = incident
    const event = until === undefined ? 'begin' : 'end'
    if (this.#options.notify({ event, text, incident })) this.#announced = { event, since, at }
  }

  /** One replica sends, and each of them finds the same one. */
  #isSender(at: number): boolean {
    if (this.#otherRuns === undefined) return at - this.#startedAt > SEND_ALONE_AFTER_MS
    return this.#otherRuns.every((run) => this.#run < run)
  }
}

/** Returns the incident whose begin or end is to be announced. `incidents`: newest first. */
function findUnannounced(
  incidents: readonly Incident[],
  announced: IncidentReport['announced'],
  at: number,
): Incident | undefined {
  const [newest] = incidents
  const isOpen = announced?.event === 'begin'
  // The end of an incident is sent before the begin of the next one.
  const earlier = isOpen ? incidents.find(({ since }) => since === announced.since) : undefined
  if (earlier?.until !== undefined && earlier !== newest) return earlier
  if (newest === undefined) return undefined
  const isKnown = announced !== undefined && announced.since >= newest.since
  if (newest.until === undefined) return isKnown && isOpen ? undefined : newest
  return isKnown && isOpen && at - newest.until >= ANNOUNCE_END_AFTER_MS ? newest : undefined
}
