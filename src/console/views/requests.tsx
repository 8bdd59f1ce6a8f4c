/** The live tail of requests, newest first, filtered by the edge. Carries no URL, body or secret. */
import { signal, useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { TailBatch, TailRequest } from '../../admin/console/api-types.ts'
import { signedOut } from '../api.ts'
import type { ExportRow } from '../export.ts'
import { Filters, SelectFilter, TextFilter } from '../filters.tsx'
import { formatBytes, formatClock, formatCount, formatDuration } from '../format.ts'
import { onKey } from '../keys.ts'
import { queryText, route } from '../route.ts'
import { type Column, Table } from '../table.tsx'

const MAX_SHOWN = 200
/** The page reconnects after these times: if the edge refused the stream, and if not even a heartbeat arrived. */
const RETRY_REFUSED_MS = 10_000
const MAX_SILENCE_MS = 15_000
const FILTERS = ['status', 'endpoint', 'user', 'node', 'cache'] as const
const STATUSES = ['2xx', '3xx', '4xx', '5xx', '401', '403', '404', '429', '503', '504']
const OUTCOMES = ['hit', 'stale', 'miss', 'bypass', 'none']
const columns: readonly Column[] = [
  'Time',
  'Request',
  ['Status', 'number'],
  'Cache',
  ['Duration', 'number'],
  ['Bytes', 'number'],
  'User',
  'Node',
  'Id',
]

/** A page in the background closes its stream: the edge has a limited number of them. */
const isVisible = signal(document.visibilityState === 'visible')
document.addEventListener('visibilitychange', () => {
  isVisible.value = document.visibilityState === 'visible'
})

export function RequestsView() {
  const filter = filterOf(route.value.query)
  const requests = useSignal<readonly TailRequest[]>([])
  const skipped = useSignal(0)
  const live = useSignal(false)
  const paused = useSignal(false)
  const replaced = useSignal(false)
  const isActive = !paused.value && isVisible.value
  useEffect(() => {
    if (!isActive) return
    replaced.value = false
    requests.value = []
    skipped.value = 0
    return subscribe(`/api/requests?${filter}`, {
      onState(isOpen) {
        live.value = isOpen
        // The first batch of a stream repeats earlier requests.
        if (isOpen) requests.value = []
      },
      onBatch(batch) {
        requests.value = [...batch.requests].reverse().concat(requests.value).slice(0, MAX_SHOWN)
        skipped.value += batch.skipped
      },
      onReplaced() {
        replaced.value = true
        paused.value = true
      },
    })
  }, [filter, isActive, requests, skipped, live, replaced, paused])
  const toggle = (): void => {
    paused.value = !paused.value
  }
  // `toggle` reads only signals, so the first one stays valid.
  useEffect(() => onKey({ p: toggle }), [])
  return (
    <>
      <div class="title">
        <h1>Requests</h1>
        <span class={`pill ${paused.value ? 'warn' : live.value ? 'good' : 'bad'}`}>
          {paused.value ? 'paused' : live.value ? 'live' : 'no connection'}
        </span>
        {replaced.value && <span class="quiet">paused because too many pages show this view</span>}
        {skipped.value > 0 && (
          <span class="quiet">{formatCount(skipped.value)} requests not shown (rate too high)</span>
        )}
        <button type="button" class="right" onClick={toggle} aria-keyshortcuts="p">
          {paused.value ? 'Resume' : 'Pause'}
        </button>
      </div>
      <RequestFilters />
      <RequestTable requests={requests.value} />
    </>
  )
}

function subscribe(
  url: string,
  handlers: { onState(isOpen: boolean): void; onBatch(batch: TailBatch): void; onReplaced(): void },
): () => void {
  let source: EventSource
  let timer: ReturnType<typeof setTimeout> | undefined
  const open = (): void => {
    source = new EventSource(url)
    source.onopen = () => {
      handlers.onState(true)
      restartTimer()
    }
    source.onmessage = ({ data }) => {
      handlers.onBatch(JSON.parse(data) as TailBatch)
      restartTimer()
    }
    source.addEventListener('heartbeat', restartTimer)
    source.addEventListener('replaced', handlers.onReplaced)
    source.onerror = () => {
      handlers.onState(false)
      // EventSource reconnects after a broken connection, but not after a refusal.
      if (source.readyState === EventSource.CLOSED) reconnectAfter(RETRY_REFUSED_MS)
    }
  }
  const restartTimer = (): void => reconnectAfter(MAX_SILENCE_MS)
  const reconnectAfter = (ms: number): void => {
    clearTimeout(timer)
    timer = setTimeout(() => {
      source.close()
      handlers.onState(false)
      if (signedOut.value) reconnectAfter(ms)
      else open()
    }, ms)
  }
  open()
  return () => {
    clearTimeout(timer)
    source.close()
  }
}

/** Returns the filter as the query of the API. */
function filterOf(query: URLSearchParams): string {
  return queryText(Object.fromEntries(FILTERS.map((field) => [field, query.get(field) ?? ''])))
}

function RequestFilters() {
  return (
    <Filters>
      <TextFilter name="endpoint" label="Endpoint" placeholder="/agents" search />
      <SelectFilter name="status" label="Status" choices={STATUSES} />
      <SelectFilter name="cache" label="Cache" choices={OUTCOMES} />
      <TextFilter name="user" label="User" placeholder="admin" />
      <TextFilter name="node" label="Node" placeholder="master" />
    </Filters>
  )
}

function RequestTable({ requests }: { readonly requests: readonly TailRequest[] }) {
  if (requests.length === 0) return <p class="quiet">No matching request yet.</p>
  return (
    <Table
      label="Requests, newest first"
      columns={columns}
      kind="tail"
      exported={{ name: 'requests', rows: () => requests.map(exportRowOf) }}
    >
      <tbody>
        {requests.map((request) => (
          <tr key={request.id}>
            <td class="quiet">{formatClock(request.at)}</td>
            <th scope="row" class="mono">
              {request.method} {request.route}
            </th>
            <td class={`number ${request.status >= 500 ? 'bad' : request.status >= 400 ? 'warn' : ''}`}>
              {request.status === 0 ? 'aborted' : request.status}
            </td>
            <td>
              <span class={`word word-${request.cache}`}>{request.cache}</span>
            </td>
            <td class="number">{formatDuration(request.ms)}</td>
            <td class="number">{formatBytes(request.bytes)}</td>
            <td>
              {request.user} <span class="quiet">{request.client}</span>
            </td>
            <td>{request.node ?? <span class="quiet">–</span>}</td>
            <td class="mono quiet" title={request.id}>
              {request.id.slice(0, 8)}
            </td>
          </tr>
        ))}
      </tbody>
    </Table>
  )
}

function exportRowOf({ id, at, method, route, status, cache, ms, bytes, user, client, node }: TailRequest): ExportRow {
  const time = new Date(at).toISOString()
  return { time, method, endpoint: route, status, cache, durationMs: ms, sizeBytes: bytes, user, client, node, id }
}
