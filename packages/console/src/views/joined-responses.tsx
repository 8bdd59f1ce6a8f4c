/** The last joined responses by endpoint: rows and time of each node, its error, or a known limit. */
import { Fragment } from 'preact'
import type { JoinedResponse, NodeErrorKind, NodePart, Nodes } from '../../server/node-types.ts'
import { formatAge, formatCount, formatDuration } from '../format.ts'
import { type Column, Table } from '../table.tsx'
import { joinedRowsOf } from './node-exports.ts'

/** Joined responses, and nodes of each, that are shown. */
const MAX_RESPONSES = 20
const MAX_PARTS = 12

/** The latest response of an endpoint on any replica, and how many of the last responses are of this endpoint. */
interface LatestResponse extends JoinedResponse {
  readonly replica: string
  readonly count: number
}

interface JoinedProps {
  readonly data: Nodes
  /** The name of this replica. */
  readonly self: string
}

export function Joined({ data, self }: JoinedProps) {
  const others = data.replicas ?? []
  const responses = responsesOf(data, self)
  if (responses.length === 0) {
    return <p class="quiet">None yet. Joined responses that come from the cache are not listed.</p>
  }
  return (
    <Table
      label="Last joined responses"
      columns={columnsOf(others.length > 0)}
      kind="joined"
      exported={{ name: 'joined-responses', rows: () => responses.flatMap(joinedRowsOf) }}
    >
      <tbody>
        {responses.map((response, at) => (
          <JoinedRow key={at} response={response} several={others.length > 0} />
        ))}
      </tbody>
    </Table>
  )
}

export function describeRows({ rows, total, error }: Pick<NodePart, 'rows' | 'total' | 'error'>): string {
  if (rows === undefined || total === undefined) return error ?? 'none'
  return rows === total ? formatCount(rows) : `${formatCount(rows)} of ${formatCount(total)}`
}

/** Returns one response for each endpoint, newest first. */
function responsesOf({ joined, replicas }: Nodes, self: string): readonly LatestResponse[] {
  const own = joined.map((response) => ({ ...response, replica: self }))
  const others = (replicas ?? []).flatMap(({ name, joined = [] }) =>
    joined.map((response) => ({ ...response, replica: name })),
  )
  const latest = new Map<string, LatestResponse>()
  for (const response of [...own, ...others].sort((a, b) => a.ago - b.ago)) {
    const known = latest.get(response.route)
    latest.set(response.route, known ? { ...known, count: known.count + 1 } : { ...response, count: 1 })
  }
  return [...latest.values()].slice(0, MAX_RESPONSES)
}

function columnsOf(several: boolean): readonly Column[] {
  return [
    'Age',
    ...(several ? ['Replica'] : []),
    'Endpoint',
    ['Responses', 'number'],
    ['Duration', 'number'],
    ['Rows', 'number'],
    'Rows of each node',
  ]
}

function JoinedRow({ response, several }: { readonly response: LatestResponse; readonly several: boolean }) {
  const { ago, replica, route, count, ms, nodes } = response
  const sum = (of: (part: NodePart) => number | undefined) => nodes.reduce((all, part) => all + (of(part) ?? 0), 0)
  return (
    <tr>
      <td class="quiet">{formatAge(ago)}</td>
      {several && <td>{replica}</td>}
      <th scope="row" class="mono">
        GET <Route text={route} />
      </th>
      <td class="number">{formatCount(count)}</td>
      <td class="number">{formatDuration(ms)}</td>
      <td class="number">{describeRows({ rows: sum(({ rows }) => rows), total: sum(({ total }) => total) })}</td>
      <td>
        <PartList nodes={nodes} />
      </td>
    </tr>
  )
}

/** A route that may break before each slash. */
function Route({ text }: { readonly text: string }) {
  return text.split('/').map((segment, at) => (
    <Fragment key={at}>
      {at > 0 && (
        <>
          <wbr />/
        </>
      )}
      {segment}
    </Fragment>
  ))
}

/** Failed nodes come first. */
function PartList({ nodes }: { readonly nodes: readonly NodePart[] }) {
  const shown = [...nodes].sort((a, b) => rank(a) - rank(b)).slice(0, MAX_PARTS)
  return (
    <ul class="node-parts">
      {shown.map((part) => (
        <li key={part.node}>
          {part.node} <span class={isFailed(part) ? 'bad' : 'quiet'}>{describePart(part)}</span>
        </li>
      ))}
      {nodes.length > MAX_PARTS && <li class="quiet">and {formatCount(nodes.length - MAX_PARTS)} more</li>}
    </ul>
  )
}

function rank({ error }: NodePart): number {
  return error === undefined ? 1 : 0
}

/** Neither an error that the node answered nor a known limit is a failure of the node. */
function isFailed({ error, errorKind = 'failed' }: NodePart): boolean {
  return error !== undefined && errorKind === 'failed'
}

function describePart(part: NodePart): string {
  const { rows, error, errorKind = 'failed', ms } = part
  const source = ms === undefined ? 'cached' : formatDuration(ms)
  const contents = rows === undefined ? [] : [describeRows(part), source]
  return [...contents, ...(error === undefined ? [] : [describeError(error, errorKind)])].join(', ') || 'none'
}

/** Error types of RFC 9209 in words. */
const FAILURES: Readonly<Record<string, string>> = {
  http_response_timeout: 'no response in time',
  connection_timeout: 'no connection in time',
  connection_limit_reached: 'too many calls to the node',
  destination_unavailable: 'the node does not answer',
  destination_not_found: 'the node is not known',
  http_protocol_error: 'the response cannot be read',
  http_response_incomplete: 'the response was cut short',
  http_response_body_size: 'the response is too large',
  proxy_configuration_error: 'the settings of the edge do not fit the node',
  http_request_denied: 'the permission is missing',
  dns_error: 'the host name cannot be resolved',
  tls_certificate_error: 'the certificate is not accepted',
}

function describeError(error: string, kind: NodeErrorKind): string {
  switch (kind) {
    case 'knownLimit':
      return 'rows of agent 000 cannot be requested (935)'
    case 'answered':
      return `answered with an error: ${error}`
    case 'failed':
      return `failed: ${FAILURES[error] ?? error.replaceAll('_', ' ')}`
  }
}
