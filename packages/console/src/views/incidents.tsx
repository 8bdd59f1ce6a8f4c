/** Recent incidents: each in a sentence, with the range of the charts that contains it, and as Markdown to copy. */
import { useRef } from 'preact/hooks'
import type { Range } from '../../../../src/admin/console/history-types.ts'
import type { Incident, Incidents } from '../../../../src/admin/console/incident-types.ts'
import { usePoll } from '../api.ts'
import { CopyButton } from '../copy-button.tsx'

const POLL_INTERVAL_MS = 5000
const MAX_SHOWN = 5
const MINUTE_MS = 60_000
const RANGES: readonly (readonly [Range, minutes: number])[] = [
  ['15m', 15],
  ['1h', 60],
  ['6h', 360],
  ['24h', 1440],
]

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

function Card({ incident: { since, until, text, markdown } }: { readonly incident: Incident }) {
  const source = useRef<HTMLPreElement>(null)
  const day = new Date(since).toISOString().slice(0, 10)
  const range = RANGES.find(([, minutes]) => Date.now() - since < minutes * MINUTE_MS)?.[0]
  return (
    <article aria-label={`Incident of ${day}`}>
      <p>
        {until === undefined ? <span class="pill bad">now</span> : <span class="pill">over</span>} {day} {text}{' '}
        {range !== undefined && <a href={`#/now?range=${range}`}>Charts of that time</a>}
      </p>
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
