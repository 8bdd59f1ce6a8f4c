/** The events of the last hour, of this replica and of those that exchange reports with it. */
import { type Static, Type } from 'typebox'
import type { CacheEvent, EventListeners, InvalidationCause, OperationEvent } from '../../../src/core/events.ts'
import { validatorOf } from '../../../src/status/validation.ts'
import { EVENT_KINDS, type HistoryEvent } from './history-types.ts'

export const HOUR_MS = 3_600_000
const MAX_EVENTS = 200
/** In the report of one replica. */
const MAX_REPORTED = 8
const MAX_TEXT_CHARS = 200
/** The same event again within this time is not recorded: a purge of several parts is one event. */
const EVENT_PAUSE_MS = 10_000

/** What a purge removed, for the event in the charts. Absent: the cause is no purge. */
const PURGES: Readonly<Partial<Record<InvalidationCause, string>>> = {
  purgeAll: 'everything',
  purgeGroup: 'a group',
  purgeEndpoint: 'an endpoint',
  purgeTag: 'a tag',
  purgeKey: 'entries by key',
  softPurge: 'marked as stale',
}

const text = Type.String({ maxLength: MAX_TEXT_CHARS })
const reportSchema = Type.Array(
  Type.Object({
    kind: Type.Enum([...EVENT_KINDS]),
    at: Type.Integer({ minimum: 0 }),
    replica: text,
    text: Type.Optional(text),
  }),
  { maxItems: MAX_REPORTED },
)
/** Other programs may write to this Redis, so a report is validated before it is used. */
const isReport = validatorOf(reportSchema)

export class HistoryEvents implements Required<Pick<EventListeners, 'ejection' | 'cache' | 'operation'>> {
  readonly #replica: string
  readonly #now: () => number
  #own: readonly HistoryEvent[] = []
  #others: readonly HistoryEvent[] = []

  /** `now`: milliseconds since 1970. */
  constructor(replica: string, now: () => number) {
    this.#replica = shortened(replica)
    this.#now = now
  }

  operation(event: OperationEvent): void {
    this.recordEvent(event)
  }

  recordEvent({ kind, text }: Pick<HistoryEvent, 'kind' | 'text'>): void {
    const at = this.#now()
    const event = { at, replica: this.#replica, kind, ...(text !== undefined && { text: shortened(text) }) }
    const isKnown = this.#own.some((own) => isSame(own, event) && at - own.at < EVENT_PAUSE_MS)
    if (!isKnown) this.#own = [...this.#own, event].slice(-MAX_EVENTS)
  }

  ejection(node: string): void {
    this.recordEvent({ kind: 'ejection', text: node })
  }

  cache(event: CacheEvent): void {
    const text = event.kind === 'invalidated' ? PURGES[event.cause] : undefined
    if (text !== undefined) this.recordEvent({ kind: 'purge', text })
  }

  /** Returns the newest events of this replica. The others need them once, and get them with each report of an hour. */
  report(): Static<typeof reportSchema> {
    return this.#own.filter(({ at }) => at > this.#now() - HOUR_MS).slice(-MAX_REPORTED)
  }

  /** Takes the events of the other replicas that are not known yet. */
  offer(reports: readonly unknown[] | undefined): void {
    for (const report of reports ?? []) {
      if (!isReport(report)) continue
      const added = report.filter(
        (event) => !this.#others.some((known) => known.at === event.at && isSame(known, event)),
      )
      if (added.length > 0) this.#others = [...this.#others, ...added].slice(-MAX_EVENTS)
    }
  }

  /** Returns the events since then (milliseconds since 1970), oldest first. */
  since(from: number): readonly HistoryEvent[] {
    const to = this.#now()
    return [...this.#own, ...this.#others]
      .filter(({ at }) => at >= from && at <= to)
      .sort((a, b) => a.at - b.at)
      .slice(-MAX_EVENTS)
  }
}

function isSame(a: HistoryEvent, b: HistoryEvent): boolean {
  return a.kind === b.kind && a.replica === b.replica && a.text === b.text
}

function shortened(text: string): string {
  return text.length > MAX_TEXT_CHARS ? `${text.slice(0, MAX_TEXT_CHARS - 1)}…` : text
}
