/** The nodes of the manager cluster as this replica sees them, and the other replicas. */
import type { Now } from '../../admin/console/api-types.ts'
import type { JoinedResponse, NodeSummary, Nodes, ReplicaSummary } from '../../admin/console/node-types.ts'
import { usePoll } from '../api.ts'
import { formatCount, formatDuration, formatPercent, formatRate, NONE } from '../format.ts'
import { Load, NodeState } from '../node-state.tsx'
import { type Column, Table } from '../table.tsx'
import { describeRows, formatAge, Joined, lastPartOf } from './joined-responses.tsx'

const POLL_INTERVAL_MS = 2000

const nodeColumns: readonly Column[] = [
  'Node',
  'State',
  ['In flight', 'number'],
  ['Queued', 'number'],
  ['Last minute', 'number'],
  ['p50', 'number'],
  ['p99', 'number'],
  ['Calls', 'number'],
  ['Errors', 'number'],
  ['Rows in last joined response', 'number'],
  'Last failure',
]
const replicaColumns: readonly Column[] = [
  'Replica',
  'State',
  ['Requests', 'number'],
  ['Hit ratio', 'number'],
  ['p99', 'number'],
  ['Calls to nodes', 'number'],
  'Nodes',
  ['Last seen', 'number'],
]

export function NodesView({ now }: { readonly now: Now | undefined }) {
  const { data, error } = usePoll<Nodes>('/api/nodes', POLL_INTERVAL_MS)
  if (data === undefined) return <p class="quiet">{error ?? 'Loading …'}</p>
  return (
    <>
      <h1>Nodes</h1>
      <p class="quiet">
        As seen by {now?.edge.name ?? 'this replica'}. Latencies, calls and errors cover the last five minutes.
      </p>
      <NodeTable data={data} />
      <h2>Last joined responses</h2>
      <Joined data={data} self={now?.edge.name ?? 'this replica'} />
      <h2>Replicas of the edge</h2>
      <Replicas replicas={data.replicas} />
    </>
  )
}

function NodeTable({ data: { nodes, joined } }: { readonly data: Nodes }) {
  return (
    <Table label="Nodes" columns={nodeColumns} kind="nodes">
      <tbody>
        {nodes.map((node) => (
          <NodeRow key={node.name} node={node} joined={joined} />
        ))}
      </tbody>
    </Table>
  )
}

interface NodeRowProps {
  readonly node: NodeSummary
  readonly joined: readonly JoinedResponse[]
}

function NodeRow({ node, joined }: NodeRowProps) {
  const { name, type, version, layout, state, inFlight, limit, slots, queue, budget } = node
  const { p50, p99, calls, errors, lastFailure, ejectedFor } = node
  return (
    <tr>
      <th scope="row">
        {name} <span class="quiet">{[type, version, layout && `${layout} layout`].filter(Boolean).join(' · ')}</span>
      </th>
      <td>
        <NodeState state={state} />
        {ejectedFor !== undefined && (
          <span class="quiet"> for {formatDuration(Math.ceil(ejectedFor / 1000) * 1000)} more</span>
        )}
      </td>
      <td class="number">
        <Load value={inFlight} of={limit} /> {inFlight} / {limit}
        {slots < limit && <span class="quiet"> ({slots} here)</span>}
      </td>
      <td class="number">{formatCount(queue)}</td>
      <td class="number">
        {budget === undefined ? NONE : `${formatCount(budget.used)} / ${formatCount(budget.limit)}`}
      </td>
      <td class="number">{formatDuration(p50)}</td>
      <td class="number">{formatDuration(p99)}</td>
      <td class="number">{formatCount(calls)}</td>
      <td class={errors > 0 ? 'number bad' : 'number'}>{formatCount(errors)}</td>
      <RowsInLastJoin part={lastPartOf(joined, name)} />
      <td>
        {lastFailure === undefined ? (
          <span class="quiet">none</span>
        ) : (
          `${lastFailure.fault}: ${lastFailure.detail} · ${formatAge(lastFailure.ago)} ago`
        )}
      </td>
    </tr>
  )
}

/** The rows that the node contributed to the last joined response. */
function RowsInLastJoin({ part }: { readonly part: ReturnType<typeof lastPartOf> }) {
  if (part === undefined) return <td class="number">{NONE}</td>
  return (
    <td class={part.rows === undefined ? 'number bad' : 'number'}>
      {describeRows(part)} <span class="quiet">{formatAge(part.ago)} ago</span>
    </td>
  )
}

function Replicas({ replicas }: { readonly replicas: readonly ReplicaSummary[] | null | undefined }) {
  if (replicas === undefined) {
    return <p class="quiet">Replicas see each other only if they share a Redis. None is configured.</p>
  }
  if (replicas === null) return <p class="warning">Redis is unreachable: the state of the other replicas is unknown.</p>
  if (replicas.length === 0) return <p class="quiet">No other replica uses this Redis.</p>
  return (
    <Table label="Replicas" columns={replicaColumns}>
      <tbody>
        {replicas.map(({ name, version, ready, rates, nodes, ago }) => (
          <tr key={name}>
            <th scope="row">
              {name} <span class="quiet">{version}</span>
            </th>
            <td>{ready ? <span class="pill good">ready</span> : <span class="pill bad">not ready</span>}</td>
            <td class="number">{formatRate(rates.perSecond)}/s</td>
            <td class="number">{formatPercent(rates.hitRatio)}</td>
            <td class="number">{formatDuration(rates.p99)}</td>
            <td class="number">{formatRate(rates.callsPerSecond)}/s</td>
            <td>{nodes.map((node) => `${node.name} ${node.state} ${node.inFlight}/${node.limit}`).join(', ')}</td>
            <td class="number">{formatAge(ago)} ago</td>
          </tr>
        ))}
      </tbody>
    </Table>
  )
}
