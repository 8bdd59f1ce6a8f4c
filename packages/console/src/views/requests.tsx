/** The live tail of requests, newest first, filtered by the edge. Carries no query, body or secret. */
import { useEffect, useLayoutEffect, useState } from 'preact/hooks'
import type { TailRequest } from '../../server/request-types.ts'
import './requests.css'
import { contact } from '../api.ts'
import type { ExportRow } from '../export.ts'
import { Filters, SelectFilter, TextFilter } from '../filters.tsx'
import { formatBytes, formatClock, formatCount, formatDuration, NONE } from '../format.ts'
import { onKey } from '../keys.ts'
import { navigate, queryText, replaceQuery, route } from '../route.ts'
import { type Column, Table } from '../table.tsx'
import { RequestDrawer } from './request.tsx'
import { tail, useTail } from './request-stream.ts'
import { pathOf, statusClass, statusText } from './request-text.ts'

const FILTERS = ['status', 'endpoint', 'user', 'node', 'cache', 'slower', 'id'] as const
const STATUSES = ['2xx', '3xx', '4xx', '5xx', '401', '403', '404', '429', '503', '504']
const OUTCOMES = ['hit', 'stale', 'miss', 'bypass', 'none']
const UUID_LENGTH = 36
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

/** Where a paused list was scrolled to when another view was opened. */
let scrolledTo = 0

export function RequestsView() {
  const [isRestored] = useState(restorePausedFilter)
  const { part: openedId, query } = route.value
  const filter = filterOf(query)
  useTail(queryText(filter))
  // Before the list is drawn, so that it does not jump.
  useLayoutEffect(() => {
    if (isRestored) scrollTo(0, scrolledTo)
  }, [])
  useEffect(() => {
    const onScroll = (): void => {
      // The next view may be shorter, and the browser then scrolls before this listener is removed.
      if (route.peek().view === 'requests') scrolledTo = scrollY
    }
    addEventListener('scroll', onScroll)
    const stopListening = onKey({ p: togglePause })
    return () => {
      removeEventListener('scroll', onScroll)
      stopListening()
    }
  }, [])
  return (
    <>
      <TailTitle />
      <RequestFilters />
      <RequestTable requests={tail.requests.value} filter={filter} />
      {openedId !== undefined && (
        // One dialog per request: a dialog that was just closed would stay closed for the next request.
        <RequestDrawer key={openedId} id={openedId} onClose={() => navigate('requests', filter)} />
      )}
    </>
  )
}

/** Restores the filter of a paused list after another view was shown. Returns whether the list is the paused one. */
function restorePausedFilter(): boolean {
  const { query } = route.peek()
  const filter = tail.filter.peek()
  if (!tail.isPaused.peek() || query.size > 0 || filter === undefined) return false
  replaceQuery(Object.fromEntries(new URLSearchParams(filter)))
  return true
}

function togglePause(): void {
  tail.isPaused.value = !tail.isPaused.value
}

function TailTitle() {
  const { isPaused, isLive, isReplaced, skipped } = tail
  return (
    <div class="title">
      <h1>Requests</h1>
      <span class={`pill ${isPaused.value ? 'warn' : isLive.value ? 'good' : 'bad'}`}>
        {isPaused.value ? 'paused' : isLive.value ? 'live' : 'no connection'}
      </span>
      {isReplaced.value && <span class="quiet">paused because too many pages show this view</span>}
      {skipped.value > 0 && <span class="quiet">{formatCount(skipped.value)} requests not shown (rate too high)</span>}
      <button type="button" class="right" onClick={togglePause} aria-keyshortcuts="p">
        {isPaused.value ? 'Resume' : 'Pause'}
      </button>
    </div>
  )
}

/** Returns the filter in the form that the API accepts: people paste ids with blanks around them. */
function filterOf(query: URLSearchParams): Record<(typeof FILTERS)[number], string> {
  const values = Object.fromEntries(FILTERS.map((field) => [field, query.get(field) ?? '']))
  const { slower = '', id = '' } = values
  return {
    ...(values as Record<(typeof FILTERS)[number], string>),
    slower: slower.replace(/\D/g, '').slice(0, 7),
    id: id.replace(/[^0-9a-f-]/gi, '').slice(0, UUID_LENGTH),
  }
}

function RequestFilters() {
  return (
    <Filters>
      <TextFilter name="endpoint" label="Endpoint" placeholder="/agents" search />
      <SelectFilter name="status" label="Status" choices={STATUSES} />
      <SelectFilter name="cache" label="Cache" choices={OUTCOMES} />
      <TextFilter name="slower" label="Slower than (ms)" placeholder="500" numeric />
      <TextFilter name="user" label="User" placeholder="admin" />
      <TextFilter name="node" label="Node" placeholder="master" />
      <TextFilter name="id" label="Request id" placeholder="X-Request-Id" />
    </Filters>
  )
}

interface RequestTableProps {
  readonly requests: readonly TailRequest[]
  readonly filter: ReturnType<typeof filterOf>
}

function RequestTable({ requests, filter }: RequestTableProps) {
  if (requests.length === 0) {
    if (contact.value.error !== undefined)
      return <p class="warning">No requests can be shown: {contact.value.error}.</p>
    if (filter.id.length < UUID_LENGTH) return <p class="quiet">No matching request in the last 10 minutes.</p>
    return (
      <p class="quiet">
        This replica has no record of this request. Records are kept for 10 minutes. Another replica may have the
        record.
      </p>
    )
  }
  return (
    <Table
      label="Requests, newest first"
      columns={columns}
      kind="tail"
      exported={{ name: 'requests', rows: () => requests.map(exportRowOf) }}
    >
      <tbody>
        {requests.map((request) => (
          <RequestRow key={request.id} request={request} query={queryText(filter)} />
        ))}
      </tbody>
    </Table>
  )
}

function RequestRow({ request, query }: { readonly request: TailRequest; readonly query: string }) {
  const { id, at, method, status, cache, ms, bytes, user, client, node } = request
  return (
    <tr>
      <td class="quiet">{formatClock(at)}</td>
      <th scope="row" class="mono">
        <a class="row-link" href={`#/requests/${id}${query === '' ? '' : `?${query}`}`}>
          {method} {pathOf(request)}
        </a>
      </th>
      <td class={`number ${statusClass(status)}`}>{statusText(status)}</td>
      <td>
        <span class={`word word-${cache}`}>{cache}</span>
      </td>
      <td class="number">{formatDuration(ms)}</td>
      <td class="number">{formatBytes(bytes)}</td>
      <td>
        {user} <span class="quiet">{client}</span>
      </td>
      <td>{node ?? <span class="quiet">{NONE}</span>}</td>
      <td class="mono quiet" title={id}>
        {id.slice(0, 8)}
      </td>
    </tr>
  )
}

function exportRowOf(request: TailRequest): ExportRow {
  const { id, at, method, status, cache, ms, bytes, user, client, node } = request
  const time = new Date(at).toISOString()
  return {
    time,
    method,
    path: pathOf(request),
    status,
    cache,
    durationMs: ms,
    sizeBytes: bytes,
    user,
    client,
    node,
    id,
  }
}
