/**
 * Incidents: when something breaks and when it is over. Each replica observes its own problems and requests. The replicas
 * exchange what they saw with their reports, so each of them derives the same incidents, and one of them sends the notices.
 */
import { randomUUID } from 'node:crypto'
import { Type } from 'typebox'
import type { EventListeners } from '../../core/events.ts'
import { validatorOf } from '../validation.ts'
import { AffectedRequests } from './affected-requests.ts'
import type { Problem } from './api-types.ts'
import { type HistoryStore, INCIDENT_SERIES } from './history-records.ts'
import { boundedPart, decodePart, END_PAUSE_MS, incidentsOf, keyOf, partSchema } from './incident-parts.ts'
import type { Incident, IncidentNotice, IncidentPart, IncidentProblem } from './incident-types.ts'

/** What a replica reports to the others. */
export interface IncidentReport {
  readonly run: string
  /** What it sees now, and what it saw until a short time ago. */
  readonly parts: readonly IncidentPart[]
  /** The newest notice that it sent. */
  readonly announced?: Announced
}

/** `since`: of the incident, as it was known then. */
interface Announced {
  readonly event: IncidentNotice['event']
  readonly since: number
  readonly at: number
}

export interface IncidentsOptions {
  /** Name of this replica. */
  readonly name: string
  /** Names this process. Absent: a random name; tests choose which of several replicas sends. */
  readonly run?: string
  readonly problems: () => readonly Problem[]
  /** Absent: replicas share nothing. */
  readonly store?: HistoryStore | undefined
  /** Sends a notice. Returns false if no webhook is configured. */
  readonly notify: (notice: IncidentNotice) => boolean
  /** Begin and end of what this replica sees. `problems`: their texts. */
  readonly onChange: (event: IncidentNotice['event'], problems: string) => void
  /** Milliseconds since 1970. */
  readonly now?: () => number
}

export interface ConsoleIncidents {
  readonly listeners: Required<Pick<EventListeners, 'request'>>
  /** Returns the incidents of the last days, newest first. Never rejects because of Redis. */
  read(): Promise<readonly Incident[]>
  /** Returns what the other replicas need. */
  report(): IncidentReport
  /** Takes what the other replicas reported. Undefined: Redis is unreachable. Reports that are not valid are skipped. */
  offer(reports: readonly unknown[] | undefined): void
  /** Looks for changes. The edge does each second. */
  update(): void
  /** Stores what this replica sees until now, and ends. */
  close(): Promise<void>
}

const UPDATE_INTERVAL_MS = 1000
/** A problem that is over within this time and does not return is no incident: one lost call, one slow step. */
const BEGIN_AFTER_MS = 3000
/** A part that its replica does not report any more has ended. */
const LOST_AFTER_MS = 30_000
/** An end is announced later than it is found: another replica may have found a problem meanwhile, and reports it soon. */
const ANNOUNCE_END_AFTER_MS = END_PAUSE_MS + 6000
/** Parts in memory, and how long a part that is over is reported. */
const MAX_PARTS = 200
const REPORTED_MS = 60_000
const MAX_INCIDENTS = 50

const time = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })
/** Other programs may write to this Redis, so a report is validated before it is used. */
const isReport = validatorOf(
  Type.Object({
    run: Type.String({ maxLength: 40 }),
    parts: Type.Array(partSchema, { maxItems: 2 }),
    announced: Type.Optional(Type.Object({ event: Type.Enum(['begin', 'end']), since: time, at: time })),
  }),
)

export function createIncidents(options: IncidentsOptions): ConsoleIncidents {
  const { name, run = randomUUID(), problems, store, notify, onChange, now = Date.now } = options
  const affected = new AffectedRequests()
  const parts = new Map<string, { readonly part: IncidentPart; readonly seenAt: number }>()
  const observer = new Observer()
  /** Undefined before the first exchange. While Redis is unreachable, the reports of the last exchange. */
  let known: readonly IncidentReport[] | undefined = store === undefined ? [] : undefined
  const startedAt = now()
  let announced: Announced | undefined

  const add = (part: IncidentPart): void => {
    const key = keyOf(part)
    parts.delete(key)
    parts.set(key, { part, seenAt: now() })
    const [oldest] = parts.keys()
    if (parts.size > MAX_PARTS && oldest !== undefined) parts.delete(oldest)
  }
  const observe = (): void => {
    const before = observer.current
    const change = observer.update(problems(), now())
    if (change === 'begin') {
      observer.since = affected.begin(observer.since)
      onChange('begin', observer.summary)
    }
    const current = change === 'end' ? before : observer.current
    if (current === undefined) return
    const { since, until } = observer
    const part = { run, replica: name, since, ...(until !== undefined && { until }), problems: current }
    const bounded = boundedPart({ ...part, ...affected.read() })
    add(bounded)
    if (until === undefined) return
    affected.end()
    onChange('end', observer.summary)
    void save(bounded)
  }
  const save = async (part: IncidentPart): Promise<void> => {
    await store?.add(INCIDENT_SERIES, [{ seconds: part.since / 1000, text: JSON.stringify(part) }])
  }
  const currentParts = (): IncidentPart[] => {
    const at = now()
    return [...parts.values()].map(({ part, seenAt }) =>
      part.until === undefined && at - seenAt > LOST_AFTER_MS ? { ...part, until: seenAt } : part,
    )
  }
  /** One replica sends, and each of them finds the same one. */
  const isSender = (): boolean =>
    known === undefined ? now() - startedAt > LOST_AFTER_MS : known.every((report) => run < report.run)
  const announce = (): void => {
    const at = now()
    const all = incidentsOf(currentParts())
    const [latest] = all
    if (latest === undefined || !isSender()) return
    // The end of an incident is sent before the begin of the next one.
    const open = announced?.event === 'begin' ? all.find(({ since }) => since === announced?.since) : undefined
    const newest = open?.until !== undefined && open !== latest ? open : latest
    const isKnown = announced !== undefined && announced.since >= newest.since
    const { until } = newest
    const event = until === undefined ? 'begin' : 'end'
    const isDue = event === 'begin' ? !isKnown || announced?.event === 'end' : isKnown && announced?.event === 'begin'
    if (!isDue || (newest === latest && until !== undefined && at - until < ANNOUNCE_END_AFTER_MS)) return
    if (notify({ event, text: newest.text, incident: newest })) announced = { event, since: newest.since, at }
  }
  const update = (): void => {
    observe()
    announce()
  }
  const timer = setInterval(update, UPDATE_INTERVAL_MS)
  timer.unref()

  return {
    listeners: affected.listeners,
    update,
    report: () => {
      const oldest = now() - REPORTED_MS
      const own = [...parts.values()].map(({ part }) => part).filter((part) => part.run === run)
      const reported = own.filter(({ until = Number.POSITIVE_INFINITY }) => until > oldest).slice(-2)
      return { run, parts: reported, ...(announced && { announced }) }
    },
    offer: (reports) => {
      if (reports === undefined) return
      known = (reports.filter(isReport) as IncidentReport[]).filter((report) => report.run !== run)
      for (const report of known) {
        for (const part of report.parts) add(part)
        if ((report.announced?.at ?? 0) > (announced?.at ?? 0)) announced = report.announced
      }
    },
    read: async () => {
      const to = now() / 1000 + 1
      const texts = (await store?.read(INCIDENT_SERIES, to - INCIDENT_SERIES.lifetime, to)) ?? []
      const stored = texts.flatMap((text) => decodePart(text) ?? [])
      return incidentsOf([...stored, ...currentParts()]).slice(0, MAX_INCIDENTS)
    },
    close: async () => {
      clearInterval(timer)
      const own = observer.current && parts.get(keyOf({ run, since: observer.since }))?.part
      if (own !== undefined) await save({ ...own, until: now() })
    },
  }
}

/** The problems of one replica, from the first error until none was found for a while. */
class Observer {
  since = 0
  /** Set with the end. */
  until: number | undefined
  readonly #problems = new Map<string, IncidentProblem>()
  /** When the errors that are no incident yet were found first. They may come and go. */
  #pendingSince: number | undefined
  #lastErrorAt = 0
  #isOpen = false

  get current(): readonly IncidentProblem[] | undefined {
    return this.#isOpen ? [...this.#problems.values()] : undefined
  }

  get summary(): string {
    return [...this.#problems.values()].map(({ summary }) => summary).join('; ')
  }

  update(problems: readonly Problem[], at: number): 'begin' | 'end' | undefined {
    // Another problem is the reason why a replica is not ready, or its start or end.
    const errors = problems.filter(({ kind, severity }) => severity === 'error' && kind !== 'notReady')
    if (errors.length > 0) this.#lastErrorAt = at
    if (!this.#isOpen) return this.#tryToOpen(errors, at)
    this.#take(errors)
    if (at - this.#lastErrorAt < END_PAUSE_MS) return undefined
    this.#isOpen = false
    this.until = this.#lastErrorAt
    return 'end'
  }

  #tryToOpen(errors: readonly Problem[], at: number): 'begin' | undefined {
    if (at - this.#lastErrorAt >= END_PAUSE_MS) this.#pendingSince = undefined
    if (errors.length === 0) return undefined
    this.#pendingSince ??= at
    if (at - this.#pendingSince < BEGIN_AFTER_MS) return undefined
    this.#isOpen = true
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
