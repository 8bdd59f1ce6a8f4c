/** The history: its range and replica, the charts, and the events. */
import { type History, RANGES, type Range } from '../../server/history-types.ts'
import { usePoll } from '../api.ts'
import { eventLetters, eventTitle } from '../event-names.ts'
import { formatClock } from '../format.ts'
import { queryText, replaceQuery, route } from '../route.ts'
import { HistoryCharts } from './history-charts.tsx'

const POLL_INTERVAL_MS = 10_000
const rangeNames: Readonly<Record<Range, string>> = {
  '5m': '5 min',
  '15m': '15 min',
  '1h': '1 h',
}
/** The list of events does not push everything else off the screen. */
const MAX_EVENTS = 12

export function HistorySection() {
  const { query } = route.value
  const range = RANGES.find((each) => each === query.get('range')) ?? ''
  const replica = query.get('replica') ?? ''
  const path = `/api/history?${queryText({ range, replica })}`
  const { data: history, path: shownPath, error } = usePoll<History>(path, POLL_INTERVAL_MS)
  const isRequested = shownPath === path
  const shownRange = isRequested ? history?.range : range
  return (
    <section aria-labelledby="history">
      <div class="title history-title">
        <h2 id="history">History</h2>
        <nav class="parts" aria-label="Range">
          {RANGES.map((each) => (
            <a
              key={each}
              href={`#/now?${queryText({ range: each, replica })}`}
              aria-current={each === shownRange ? 'true' : undefined}
            >
              {rangeNames[each]}
            </a>
          ))}
        </nav>
        <span class="quiet">since this replica started, an hour at most</span>
        {history !== undefined && history.source !== 'memory' && (
          <ReplicaChoice
            history={history}
            replica={replica}
            onChoice={(chosen) => replaceQuery({ range, replica: chosen })}
          />
        )}
      </div>
      {history?.source === 'unreachable' && (
        <p class="warning" role="status">
          Redis was unreachable for a part of this time. The charts have only this replica ({history.self}) then.
        </p>
      )}
      {history === undefined && error !== undefined && <p class="warning">The history cannot be shown: {error}.</p>}
      {history !== undefined && (
        <div class={isRequested ? undefined : 'outdated'} aria-busy={!isRequested}>
          <HistoryCharts history={history} />
          <Events history={history} />
        </div>
      )}
    </section>
  )
}

interface ReplicaChoiceProps {
  readonly history: History
  readonly replica: string
  onChoice(replica: string): void
}

function ReplicaChoice({ history: { replicas, self }, replica, onChoice }: ReplicaChoiceProps) {
  const names = replica === '' || replicas.includes(replica) ? replicas : [replica, ...replicas]
  return (
    <label class="replica-choice">
      <span>Replica</span>
      <select value={replica} onChange={({ currentTarget }) => onChoice(currentTarget.value)}>
        <option value="">all (sum)</option>
        {names.map((name) => (
          <option key={name} value={name}>
            {name === self ? `${name} (this one)` : name}
          </option>
        ))}
      </select>
    </label>
  )
}

function Events({ history: { events } }: { readonly history: History }) {
  const newest = events.slice(-MAX_EVENTS).reverse()
  const earlier = events.length - newest.length
  return (
    <section class="events" aria-labelledby="events">
      <h3 id="events">Events in the charts</h3>
      {newest.length === 0 ? (
        <p class="quiet">No start, purge, ejection, drain or reload in this time.</p>
      ) : (
        <ul>
          {newest.map((event) => (
            <li key={`${event.at} ${event.kind} ${event.replica} ${event.text}`}>
              <b class="event-letter" aria-hidden="true">
                {eventLetters[event.kind]}
              </b>
              <span>{formatClock(event.at)}</span>
              <span>{eventTitle(event)}</span>
              <span class="quiet">{event.replica}</span>
            </li>
          ))}
        </ul>
      )}
      {earlier > 0 && <p class="quiet">{`${earlier} earlier ${earlier === 1 ? 'event' : 'events'}.`}</p>}
    </section>
  )
}
