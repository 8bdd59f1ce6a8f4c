/** Recent incidents: each in a sentence, with the charts of its time, and as Markdown to copy. */
import { useRef, useState } from 'preact/hooks'
import type { History, Incident, Incidents } from '../../../../src/admin/console/history-types.ts'
import { usePoll } from '../api.ts'
import { CopyButton } from '../copy-button.tsx'
import { queryText } from '../route.ts'
import { HistoryCharts, incidentCharts } from './history-charts.tsx'

const POLL_INTERVAL_MS = 5000
const CHARTS_POLL_INTERVAL_MS = 10_000
const MAX_SHOWN = 5
/** The charts begin this long before an incident, and end this long after it. */
const MARGIN_MS = 5 * 60_000

export function IncidentsSection() {
  const { data, error } = usePoll<Incidents>('/api/incidents', POLL_INTERVAL_MS)
  const incidents = data?.incidents ?? []
  return (
    <section class="events" aria-labelledby="incidents">
      <h2 id="incidents">Incidents</h2>
      {data === undefined && error !== undefined && <p class="warning">The incidents cannot be shown: {error}.</p>}
      {data !== undefined && incidents.length === 0 && <p class="quiet">None in the last seven days.</p>}
      {incidents.slice(0, MAX_SHOWN).map((incident) => (
        <Card key={incident.since} incident={incident} />
      ))}
      {incidents.length > MAX_SHOWN && (
        <p class="quiet">{incidents.length - MAX_SHOWN} earlier ones: manager-edge incidents.</p>
      )}
    </section>
  )
}

function Card({ incident }: { readonly incident: Incident }) {
  const { since, until, text, markdown } = incident
  const source = useRef<HTMLPreElement>(null)
  const [showsCharts, setShowsCharts] = useState(until === undefined)
  const day = new Date(since).toISOString().slice(0, 10)
  const time = timeAround(incident)
  return (
    <article class="incident" aria-label={`Incident of ${day}`}>
      <p>
        {until === undefined ? <span class="pill bad">now</span> : <span class="pill">over</span>} {day} {text}{' '}
        <a href={`#/now?${queryText(time)}`} onClick={() => document.getElementById('history')?.focus()}>
          Open this time in History
        </a>
      </p>
      <details open={showsCharts} onToggle={({ currentTarget }) => setShowsCharts(currentTarget.open)}>
        <summary>Charts</summary>
        {showsCharts && <Charts time={time} />}
      </details>
      <details>
        <summary>Markdown</summary>
        <CopyButton source={source} />
        <pre ref={source} class="wrapped">
          {markdown}
        </pre>
      </details>
    </article>
  )
}

/** Returns the time of the charts as a query of the history, in seconds since 1970. An incident that is not over has no end. */
function timeAround({ since, until }: Incident): Readonly<Record<string, string>> {
  const seconds = (at: number) => String(Math.round(at / 1000))
  return { from: seconds(since - MARGIN_MS), ...(until !== undefined && { to: seconds(until + MARGIN_MS) }) }
}

function Charts({ time }: { readonly time: Readonly<Record<string, string>> }) {
  const { data: history, error } = usePoll<History>(`/api/history?${queryText(time)}`, CHARTS_POLL_INTERVAL_MS)
  if (history !== undefined) return <HistoryCharts history={history} charts={incidentCharts} />
  return <p class="quiet">{error === undefined ? 'Loading …' : `The charts cannot be shown: ${error}.`}</p>
}
