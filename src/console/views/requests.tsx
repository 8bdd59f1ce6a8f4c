/** Requests as they are answered: newest on top, filtered by the edge, never a URL, a body or a secret. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { TailBatch, TailLine } from '../../admin/console/api-types.ts'
import { signedOut } from '../api.ts'
import { Chosen, Filters, Written } from '../filters.tsx'
import { bytes, clockTime, count, time } from '../format.ts'
import { onKey } from '../keys.ts'
import { place, queryText } from '../place.ts'
import { type Column, Table } from '../table.tsx'

const MOST = 200
/** Milliseconds after which it is asked again: refused (too many watch), or nothing was heard, not even a pulse. */
const REFUSED = 10_000
const SILENT = 15_000
const fields = ['status', 'endpoint', 'user', 'node', 'cache'] as const
const statuses = ['2xx', '3xx', '4xx', '5xx', '401', '403', '404', '429', '503', '504']
const words = ['hit', 'stale', 'miss', 'bypass', 'none']
const columns: readonly Column[] = [
  'Time',
  'Request',
  ['Status', 'number'],
  'Cache',
  ['Took', 'number'],
  ['Bytes', 'number'],
  'User',
  'Node',
  'Id',
]

export function RequestsView() {
  const filter = filterOf(place.value.query)
  const lines = useSignal<readonly TailLine[]>([])
  const skipped = useSignal(0)
  const live = useSignal(false)
  const paused = useSignal(false)
  const on = !paused.value
  useEffect(() => {
    if (!on) return
    lines.value = []
    skipped.value = 0
    return watch(`/api/requests?${filter}`, {
      state(open) {
        live.value = open
        // Whoever begins to watch gets those before as well.
        if (open) lines.value = []
      },
      batch(batch) {
        lines.value = [...batch.lines].reverse().concat(lines.value).slice(0, MOST)
        skipped.value += batch.skipped
      },
    })
  }, [filter, on, lines, skipped, live])
  const toggle = (): void => {
    paused.value = !paused.value
  }
  // it reads nothing that changes
  useEffect(() => onKey({ p: toggle }), [])
  return (
    <>
      <div class="title">
        <h1>Requests</h1>
        <span class={`pill ${paused.value ? 'warn' : live.value ? 'good' : 'bad'}`}>
          {paused.value ? 'paused' : live.value ? 'live' : 'no contact'}
        </span>
        {skipped.value > 0 && <span class="quiet">{count(skipped.value)} came too fast to be shown</span>}
        <button type="button" class="right" onClick={toggle} aria-keyshortcuts="p">
          {paused.value ? 'Go on' : 'Pause'}
        </button>
      </div>
      <RequestFilters />
      <Lines lines={lines.value} />
    </>
  )
}

function watch(url: string, hear: { state(open: boolean): void; batch(batch: TailBatch): void }): () => void {
  let source: EventSource
  let timer: ReturnType<typeof setTimeout> | undefined
  const open = (): void => {
    source = new EventSource(url)
    source.onopen = () => {
      hear.state(true)
      heard()
    }
    source.onmessage = ({ data }) => {
      hear.batch(JSON.parse(data) as TailBatch)
      heard()
    }
    source.addEventListener('pulse', heard)
    source.onerror = () => {
      hear.state(false)
      // It tries again by itself where the connection broke, and never where the edge refused it.
      if (source.readyState === EventSource.CLOSED) again(REFUSED)
    }
  }
  const heard = (): void => again(SILENT)
  const again = (after: number): void => {
    clearTimeout(timer)
    timer = setTimeout(() => {
      source.close()
      hear.state(false)
      if (signedOut.value) again(after)
      else open()
    }, after)
  }
  open()
  return () => {
    clearTimeout(timer)
    source.close()
  }
}

/** What the edge is asked to leave out, as it takes it. */
function filterOf(query: URLSearchParams): string {
  return queryText(Object.fromEntries(fields.map((field) => [field, query.get(field) ?? ''])))
}

function RequestFilters() {
  return (
    <Filters>
      <Written field="endpoint" label="Endpoint" hint="/agents" search />
      <Chosen field="status" label="Status" among={statuses} />
      <Chosen field="cache" label="Cache" among={words} />
      <Written field="user" label="User" hint="admin" />
      <Written field="node" label="Node" hint="master" />
    </Filters>
  )
}

function Lines({ lines }: { readonly lines: readonly TailLine[] }) {
  if (lines.length === 0) return <p class="quiet">Nothing yet: requests that match stand here as they are answered.</p>
  return (
    <Table label="Requests, newest first" columns={columns} kind="tail">
      <tbody>
        {lines.map((line) => (
          <tr key={line.id}>
            <td class="quiet">{clockTime(line.at)}</td>
            <th scope="row" class="mono">
              {line.method} {line.route}
            </th>
            <td class={`number ${line.status >= 500 ? 'bad' : line.status >= 400 ? 'warn' : ''}`}>
              {line.status === 0 ? 'left' : line.status}
            </td>
            <td>
              <span class={`word word-${line.cache}`}>{line.cache}</span>
            </td>
            <td class="number">{time(line.ms)}</td>
            <td class="number">{bytes(line.bytes)}</td>
            <td>
              {line.user} <span class="quiet">{line.client}</span>
            </td>
            <td>{line.node ?? <span class="quiet">–</span>}</td>
            <td class="mono quiet" title={line.id}>
              {line.id.slice(0, 8)}
            </td>
          </tr>
        ))}
      </tbody>
    </Table>
  )
}
