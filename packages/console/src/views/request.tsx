/** One request in detail: its cache decision, its stages, and its calls to nodes. */
import type { CallTime, RequestDetails, StageTime } from '../../server/request-types.ts'
import { usePoll } from '../api.ts'
import { Contract } from '../contract.tsx'
import { Dialog } from '../dialog.tsx'
import { formatBytes, formatCount, formatDuration } from '../format.ts'
import { Property } from '../property.tsx'
import { type Column, Table } from '../table.tsx'
import { describeRows } from './joined-responses.tsx'
import { pathOf, statusText } from './request-text.ts'

interface RequestDrawerProps {
  readonly id: string
  onClose(): void
}

/** Work in the background goes on after the response. */
const POLL_INTERVAL_MS = 5000
const BAR_WIDTH_PX = 120
const stageColumns: readonly Column[] = ['Stage', ['Start', 'number'], ['Duration', 'number'], 'Time', 'Result']
const callColumns: readonly Column[] = [
  'Node',
  'Call',
  'Result',
  ['Start', 'number'],
  ['Queue', 'number'],
  ['On the node', 'number'],
]
const partColumns: readonly Column[] = ['Node', ['Rows', 'number'], ['Duration', 'number']]

export function RequestDrawer({ id, onClose }: RequestDrawerProps) {
  const { data, error } = usePoll<RequestDetails>(`/api/requests/${encodeURIComponent(id)}`, POLL_INTERVAL_MS)
  const title = data === undefined ? `Request ${id}` : `${data.request.method} ${pathOf(data.request)}`
  return (
    <Dialog title={title} drawer onClose={onClose}>
      {data === undefined ? <p class="quiet">{error ?? 'Loading …'}</p> : <Details data={data} />}
    </Dialog>
  )
}

function Details({ data }: { readonly data: RequestDetails }) {
  const { request, error, cache, stages, calls, joined, omitted } = data
  return (
    <>
      <dl class="pairs codes">
        <Property name="Request id" value={request.id} />
        <Property name="Ended at" value={new Date(request.at).toISOString()} />
        <Contract of={request.route} />
        <Property name="Status" value={statusText(request.status)} />
        {error !== undefined && <Property name="Error" value={`${error.code} ${error.text}`} />}
        <Property name="Duration" value={formatDuration(request.ms)} />
        <Property name="Bytes" value={formatBytes(request.bytes)} />
        <Property name="User" value={`${request.user} from ${request.client}`} />
        <Property name="Cache" value={`${cache.outcome}. ${cache.reason}`} />
        {cache.timeLeft !== undefined && (
          <Property
            name={cache.timeLeft > 0 ? 'Was fresh for' : 'Was stale since'}
            value={formatDuration(Math.abs(cache.timeLeft))}
          />
        )}
        {cache.fetchTime !== undefined && <Property name="Fetch time" value={formatDuration(cache.fetchTime)} />}
      </dl>
      <h3>Stages</h3>
      {stages.length === 0 ? (
        <p class="quiet">
          {request.cache === 'hit'
            ? 'None. A prepared hit measures the duration only.'
            : 'Not recorded: a replica records stages while the console is in use, and keeps the latest.'}
        </p>
      ) : (
        <Stages stages={stages} total={request.ms} id={request.id} />
      )}
      {calls.length > 0 && (
        <>
          <h3>Calls to nodes</h3>
          <Calls calls={calls} id={request.id} />
        </>
      )}
      {omitted > 0 && <p class="quiet">{formatCount(omitted)} further stages and calls are not recorded.</p>}
      {joined !== undefined && (
        <>
          <h3>Joined response, after {formatDuration(joined.ms)}</h3>
          <Parts joined={joined} id={request.id} />
        </>
      )}
    </>
  )
}

interface StagesProps {
  readonly stages: readonly StageTime[]
  /** The duration of the request. */
  readonly total: number
  readonly id: string
}

function Stages({ stages, total, id }: StagesProps) {
  const end = Math.max(total, ...stages.map(({ start, ms = 0 }) => start + ms))
  const rows = () =>
    stages.map(({ name, depth, start, ms, node, notes }) => ({
      stage: name,
      depth,
      startMs: start,
      durationMs: ms,
      node,
      result: notes,
    }))
  return (
    <Table label="Stages" columns={stageColumns} kind="stages" exported={{ name: `stages-${id}`, rows }}>
      <tbody>
        {stages.map((stage, at) => (
          <tr key={at}>
            <th scope="row" class={`depth-${Math.min(stage.depth, 5)}`}>
              {stage.name}
            </th>
            <td class="number">{formatDuration(stage.start)}</td>
            <td class="number">{stage.ms === undefined ? 'running' : formatDuration(stage.ms)}</td>
            <td>
              <Bar stage={stage} end={end} />
            </td>
            <td>{[...(stage.node === undefined ? [] : [stage.node]), ...stage.notes].join(', ')}</td>
          </tr>
        ))}
      </tbody>
    </Table>
  )
}

/** The position of the stage in the request. Hidden from screen readers, because the numbers beside it are equal. */
function Bar({ stage: { start, ms }, end }: { readonly stage: StageTime; readonly end: number }) {
  const scale = end === 0 ? 0 : BAR_WIDTH_PX / end
  const width = Math.max(1.5, (ms ?? end - start) * scale)
  return (
    <svg width={BAR_WIDTH_PX} height="8" aria-hidden="true">
      <rect class="load-all" width={BAR_WIDTH_PX} height="8" rx="2" />
      <rect class="load-used" x={Math.min(start * scale, BAR_WIDTH_PX - 1.5)} width={width} height="8" rx="1" />
    </svg>
  )
}

function Calls({ calls, id }: { readonly calls: readonly CallTime[]; readonly id: string }) {
  const rows = () =>
    calls.map(({ node, method, route, result, start, queueTime, ms }) => ({
      node,
      method,
      route,
      result,
      startMs: start,
      queueMs: queueTime,
      nodeMs: ms,
    }))
  return (
    <Table label="Calls to nodes" columns={callColumns} exported={{ name: `calls-${id}`, rows }}>
      <tbody>
        {calls.map(({ node, method, route, result, failed, start, queueTime, ms }, at) => (
          <tr key={at}>
            <th scope="row">{node}</th>
            <td class="mono">
              {method} {route}
            </td>
            <td class={failed ? 'bad' : undefined}>{result}</td>
            <td class="number">{formatDuration(start)}</td>
            <td class="number">{formatDuration(queueTime)}</td>
            <td class="number">{formatDuration(ms)}</td>
          </tr>
        ))}
      </tbody>
    </Table>
  )
}

interface PartsProps {
  readonly joined: NonNullable<RequestDetails['joined']>
  readonly id: string
}

function Parts({ joined: { nodes }, id }: PartsProps) {
  const rows = () => nodes.map(({ node, rows, total, ms, error }) => ({ node, rows, total, durationMs: ms, error }))
  return (
    <Table label="Parts of nodes" columns={partColumns} exported={{ name: `parts-${id}`, rows }}>
      <tbody>
        {nodes.map((part) => (
          <tr key={part.node}>
            <th scope="row">{part.node}</th>
            <td class={part.error === undefined ? 'number' : 'number bad'}>{describeRows(part)}</td>
            <td class="number">{part.ms === undefined ? (part.error ?? 'cached') : formatDuration(part.ms)}</td>
          </tr>
        ))}
      </tbody>
    </Table>
  )
}
