/**
 * Incidents: when something breaks and when it is over. Each replica observes its own problems and requests. The replicas
 * exchange what they saw with their reports, so each of them derives the same incidents, and one of them sends the notices.
 */
import { randomUUID } from 'node:crypto'
import { Type } from 'typebox'
import { validatorOf } from '../validation.ts'
import type { Problem } from './api-types.ts'
import type { CallerCounts } from './caller-counts.ts'
import { type HistoryStore, INCIDENT_SERIES } from './history-records.ts'
import { type Announced, IncidentAnnouncer } from './incident-announcer.ts'
import { IncidentObserver } from './incident-observer.ts'
import {
  boundedPart,
  countsOf,
  decodePart,
  incidentsOf,
  KnownParts,
  MAX_REPORTED_PARTS,
  partSchema,
  timeSchema,
} from './incident-parts.ts'
import type { Incident, IncidentNotice, IncidentPart } from './incident-types.ts'

/** What a replica reports to the others. */
export interface IncidentReport {
  readonly run: string
  /** What it sees now, and what it saw until a short time ago. */
  readonly parts: readonly IncidentPart[]
  /** The newest notice that it sent. */
  readonly announced?: Announced
}

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

export interface ConsoleIncidents {
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
const MAX_INCIDENTS = 50

/** Other programs may write to this Redis, so a report is validated before it is used. */
const isReport = validatorOf(
  Type.Object({
    run: Type.String({ maxLength: 40 }),
    parts: Type.Array(partSchema, { maxItems: MAX_REPORTED_PARTS }),
    announced: Type.Optional(Type.Object({ event: Type.Enum(['begin', 'end']), since: timeSchema, at: timeSchema })),
  }),
)

export function createIncidents(options: IncidentsOptions): ConsoleIncidents {
  const { run = randomUUID(), store, notify, now = Date.now } = options
  const parts = new KnownParts()
  const announcer = new IncidentAnnouncer(run, now(), store === undefined)
  const save = async (part: IncidentPart): Promise<void> => {
    await store?.add(INCIDENT_SERIES, [{ seconds: part.since / 1000, text: JSON.stringify(part) }])
  }
  const own = observeReplica(run, options, (part) => {
    parts.add(part, now())
    if (part.until !== undefined) void save(part)
  })
  const update = (): void => {
    const at = now()
    own.observe(at)
    announcer.announce(incidentsOf(parts.read(at)), at, notify)
  }
  const timer = setInterval(update, UPDATE_INTERVAL_MS)
  timer.unref()

  return {
    update,
    report: () => {
      const { latest } = announcer
      return { run, parts: parts.toReport(run, now()), ...(latest && { announced: latest }) }
    },
    offer: (reports) => {
      if (reports === undefined) return
      const others = reports.filter(isReport).filter((report) => report.run !== run)
      for (const part of others.flatMap((report) => report.parts)) parts.add(part, now())
      announcer.offer(others)
    },
    read: async () => {
      const to = now() / 1000 + 1
      const texts = (await store?.read(INCIDENT_SERIES, to - INCIDENT_SERIES.lifetime, to)) ?? []
      const stored = texts.flatMap((text) => decodePart(text) ?? [])
      return incidentsOf([...stored, ...parts.read(now())]).slice(0, MAX_INCIDENTS)
    },
    close: async () => {
      clearInterval(timer)
      const since = own.openSince()
      const part = since === undefined ? undefined : parts.find({ run, since })
      if (part !== undefined) await save({ ...part, until: now() })
    },
  }
}

/** Observes the problems and the requests of this replica. `onPart`: receives its part as long as it is open, and its end. */
function observeReplica(
  run: string,
  { name, problems, callers, onChange }: Pick<IncidentsOptions, 'name' | 'problems' | 'callers' | 'onChange'>,
  onPart: (part: IncidentPart) => void,
) {
  const observer = new IncidentObserver()
  const summary = () => observer.problems.map((problem) => problem.summary).join('; ')
  return {
    openSince: (): number | undefined => (observer.isOpen ? observer.since : undefined),
    observe: (at: number): void => {
      const change = observer.update(problems(), at)
      if (change === 'begin') {
        observer.since = callers.beginIncident(observer.since)
        onChange('begin', summary())
      }
      if (!observer.isOpen && change !== 'end') return
      const { since, until } = observer
      const part = { run, replica: name, since, ...(until !== undefined && { until }), problems: observer.problems }
      onPart(boundedPart({ ...part, ...countsOf(callers.affected) }))
      if (change !== 'end') return
      callers.endIncident()
      onChange('end', summary())
    },
  }
}
