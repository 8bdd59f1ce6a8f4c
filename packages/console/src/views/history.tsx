/** The history: its range and replica, the charts, and the events. */
import { type History, RANGES, type Range } from '../../../../src/admin/console/history-types.ts'
import { usePoll } from '../api.ts'
import { eventLetters, eventTitle } from '../event-names.ts'
import { formatClock, formatDay } from '../format.ts'
import { queryText, replaceQuery, route } from '../route.ts'
import { HistoryCharts } from './history-charts.tsx'

const POLL_INTERVAL_MS = 10_000
const rangeNames: Readonly<Record<Range, string>> = {
  '5m': '5 min',
  '15m': '15 min',
  '1h': '1 h',
  '6h': '6 h',
  '24h': '24 h',
}
/** The list of events does not push everything else off the screen. */
const MAX_EVENTS = 12

export function HistorySection() {
  const { query } = route.value
  const time = timeOf(query)
  const replica = query.get('replica') ?? ''
  const path = `/api/history?${queryText({ ...time, replica })}`
  const { data: history, path: shownPath, error } = usePoll<History>(path, POLL_INTERVAL_MS)
  const isRequested = shownPath === path
  return (
    <section aria-labelledby="history">
      <div class="title history-title">
        <h2 id="history">History</h2>
        <nav class="parts" aria-label="Range">
          {RANGES.map((each) => (
            <a
              key={each}
              href={`#/now?${queryText({ range: each, replica })}`}
              aria-current={each === (time.range ?? (isRequested ? history?.range : undefined)) ? 'true' : undefined}
            >
              {rangeNames[each]}
            </a>
          ))}
          {time.from !== undefined && (
            <a href={`#/now?${queryText({ ...time, replica })}`} aria-current="true">
              {spanText(Number(time.from), time.to === undefined ? undefined : Number(time.to))}
            </a>
          )}
        </nav>
        {history?.source === 'redis' && (
          <ReplicaChoice
            history={history}
            replica={replica}
            onChoice={(chosen) => replaceQuery({ ...time, replica: chosen })}
          />
        )}
        {history?.source === 'memory' && (
          <span class="quiet">this replica since its start, because no Redis is configured</span>
        )}
      </div>
      {history?.source === 'unreachable' && (
        <p class="warning" role="status">
          The history in Redis cannot be read. The charts show this replica ({history.self}) since its start.
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

/** Returns the time in the address. Without one, the edge chooses a range that fits the age of the records. */
function timeOf(query: URLSearchParams): { readonly range?: Range; readonly from?: string; readonly to?: string } {
  const seconds = (name: string) => /^\d{1,11}$/.exec(query.get(name) ?? '')?.[0]
  const [from, to] = [seconds('from'), seconds('to')]
  if (from !== undefined) return to === undefined ? { from } : { from, to }
  const range = RANGES.find((each) => each === query.get('range'))
  return range === undefined ? {} : { range }
}

/** Times are seconds since 1970. */
function spanText(from: number, to: number | undefined): string {
  const [begin, end] = [from, to].map((at) => (at === undefined ? 'now' : formatClock(at * 1000).slice(0, 5)))
  return `${formatDay(from * 1000)}, ${begin} to ${end}`
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
