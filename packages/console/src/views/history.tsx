/** The history: its range and replica, the charts, and the events. */
import { useSignal } from '@preact/signals'
import { type History, RANGES, type Range } from '../../../../src/admin/console/history-types.ts'
import { usePoll } from '../api.ts'
import { Chart } from '../chart.tsx'
import { eventLetters, eventTitle } from '../event-names.ts'
import { formatClock, formatDuration, formatPercent, formatRate, formatWorkers } from '../format.ts'
import { queryText, replaceQuery, route } from '../route.ts'

const POLL_INTERVAL_MS = 10_000
const DEFAULT_RANGE: Range = '1h'
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
  const range = RANGES.find((each) => each === query.get('range')) ?? DEFAULT_RANGE
  const replica = query.get('replica') ?? ''
  const { data: history, error } = usePoll<History>(`/api/history?${queryText({ range, replica })}`, POLL_INTERVAL_MS)
  const isRequested = history?.range === range && (history.source !== 'redis' || (history.replica ?? '') === replica)
  return (
    <section aria-labelledby="history">
      <div class="title history-title">
        <h2 id="history">History</h2>
        <nav class="parts" aria-label="Range">
          {RANGES.map((each) => (
            <a
              key={each}
              href={`#/now?${queryText({ range: each, replica })}`}
              aria-current={each === range ? 'true' : undefined}
            >
              {rangeNames[each]}
            </a>
          ))}
        </nav>
        {history?.source === 'redis' && (
          <ReplicaChoice
            history={history}
            replica={replica}
            onChoice={(chosen) => replaceQuery({ range, replica: chosen })}
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
          <Charts history={history} />
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

const toWorkers = (value: number | null) => (value === null ? null : value / 1000)

function Charts({ history }: { readonly history: History }) {
  const { perSecond, hitRatio, p50, p99, callsPerSecond, failuresPerSecond, savedPerSecond } = history
  const cursor = useSignal<number | undefined>(undefined)
  const common = { history, cursor }
  return (
    <div class="charts">
      <Chart
        {...common}
        title="Requests per second"
        scale={{ least: 1 }}
        format={formatRate}
        lines={[
          { label: 'requests', colour: 'accent', values: perSecond, fill: true },
          { label: 'calls to nodes', colour: 'warm', values: callsPerSecond },
          { label: 'failures (5xx)', colour: 'bad', values: failuresPerSecond },
        ]}
      />
      <Chart
        {...common}
        title="Hit ratio"
        scale={{ top: 1 }}
        format={(value) => formatPercent(value)}
        lines={[{ label: 'hits of cacheable requests', colour: 'accent', values: hitRatio, fill: true }]}
      />
      <Chart
        {...common}
        title="Latency"
        scale="log"
        format={(value) => formatDuration(value)}
        lines={[
          { label: 'p50', colour: 'accent', values: p50 },
          { label: 'p99', colour: 'warm', values: p99 },
        ]}
      />
      <Chart
        {...common}
        title="Manager time saved"
        scale={{ least: 0.01 }}
        format={formatWorkers}
        formatAxis={formatRate}
        lines={[{ label: 'by cache hits', colour: 'accent', values: savedPerSecond.map(toWorkers), fill: true }]}
      />
    </div>
  )
}

function Events({ history: { events } }: { readonly history: History }) {
  const newest = events.slice(-MAX_EVENTS).reverse()
  const earlier = events.length - newest.length
  return (
    <section class="events" aria-labelledby="events">
      <h3 id="events">Events in the charts</h3>
      {newest.length === 0 ? (
        <p class="quiet">No start, purge, ejection, drain, reload or incident in this time.</p>
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
