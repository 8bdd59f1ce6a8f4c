/** Each node of the manager cluster, as this replica sees it, and the other replicas. */
import type { JoinedLine, NodeLine, Nodes, Now, ReplicaLine } from '../../admin/console/api-types.ts'
import { usePoll } from '../api.ts'
import { count, NONE, percent, rate, time } from '../format.ts'
import { type Column, Table } from '../table.tsx'
import { Joined, lastShare, rowsOf, sinceWhen } from './joined.tsx'

const EVERY = 2000
const good: Readonly<Record<NodeLine['state'], string>> = {
  up: 'good',
  ejected: 'bad',
  full: 'warn',
  'no address': '',
  'not listed': 'warn',
}

const nodeColumns: readonly Column[] = [
  'Node',
  'State',
  ['In flight', 'number'],
  ['In line', 'number'],
  ['p50', 'number'],
  ['p99', 'number'],
  ['Calls', 'number'],
  ['Errors', 'number'],
  ['Last rows', 'number'],
  'Last failure',
]
const replicaColumns: readonly Column[] = [
  'Replica',
  'State',
  ['Requests', 'number'],
  ['Hit ratio', 'number'],
  ['p99', 'number'],
  ['Calls', 'number'],
  'Nodes',
  ['Heard', 'number'],
]

export function NodesView({ now }: { readonly now: Now | undefined }) {
  const { data, fault } = usePoll<Nodes>('/api/nodes', EVERY)
  if (data === undefined) return <p class="quiet">{fault ?? 'Asking the edge …'}</p>
  return (
    <>
      <h1>Nodes</h1>
      <p class="quiet">As {now?.edge.name ?? 'this replica'} sees them; times and errors of the last five minutes.</p>
      <NodeTable data={data} />
      <h2>Last joined answers</h2>
      <Joined data={data} self={now?.edge.name ?? 'this one'} />
      <h2>Replicas of the edge</h2>
      <Replicas lines={data.replicas} />
    </>
  )
}

function NodeTable({ data: { nodes, joined } }: { readonly data: Nodes }) {
  return (
    <Table label="Nodes" columns={nodeColumns}>
      <tbody>
        {nodes.map((node) => (
          <NodeRow key={node.name} node={node} joined={joined} />
        ))}
      </tbody>
    </Table>
  )
}

interface NodeRowProps {
  readonly node: NodeLine
  readonly joined: readonly JoinedLine[]
}

function NodeRow({ node, joined }: NodeRowProps) {
  const { name, type, version, state, inFlight, limit, queue, p50, p99, calls, errors, lastFailure, ejectedFor } = node
  return (
    <tr>
      <th scope="row">
        {name} <span class="quiet">{[type, version].filter(Boolean).join(' · ')}</span>
      </th>
      <td>
        <span class={`pill ${good[state]}`}>{state}</span>
        {ejectedFor !== undefined && <span class="quiet"> for {time(Math.ceil(ejectedFor / 1000) * 1000)} more</span>}
      </td>
      <td class="number">
        <Load value={inFlight} of={limit} /> {inFlight} / {limit}
      </td>
      <td class="number">{count(queue)}</td>
      <td class="number">{time(p50)}</td>
      <td class="number">{time(p99)}</td>
      <td class="number">{count(calls)}</td>
      <td class={errors > 0 ? 'number bad' : 'number'}>{count(errors)}</td>
      <LastRows share={lastShare(joined, name)} />
      <td>
        {lastFailure === undefined ? (
          <span class="quiet">none</span>
        ) : (
          `${lastFailure.fault}: ${lastFailure.detail} · ${time(lastFailure.ago)} ago`
        )}
      </td>
    </tr>
  )
}

/** What the node gave to the last joined answer that it was asked for. */
function LastRows({ share }: { readonly share: ReturnType<typeof lastShare> }) {
  if (share === undefined) return <td class="number">{NONE}</td>
  return (
    <td class={share.rows === undefined ? 'number bad' : 'number'}>
      {rowsOf(share)} <span class="quiet">{sinceWhen(share.ago)}</span>
    </td>
  )
}

function Load({ value, of }: { readonly value: number; readonly of: number }) {
  const width = of === 0 ? 0 : Math.min(40, (40 * value) / of)
  return (
    <svg class="load" width="40" height="8" aria-hidden="true">
      <rect class="load-all" width="40" height="8" rx="2" />
      <rect class="load-used" width={width} height="8" rx="2" />
    </svg>
  )
}

function Replicas({ lines }: { readonly lines: readonly ReplicaLine[] | null | undefined }) {
  if (lines === undefined) {
    return (
      <p class="quiet">This console shows this replica alone: without Redis the replicas do not know of each other.</p>
    )
  }
  if (lines === null) return <p class="warning">Redis does not answer: what the other replicas do is not known.</p>
  if (lines.length === 0) return <p class="quiet">This is the only replica that shares this Redis.</p>
  return (
    <Table label="Replicas" columns={replicaColumns}>
      <tbody>
        {lines.map(({ name, version, ready, rates, nodes, ago }) => (
          <tr key={name}>
            <th scope="row">
              {name} <span class="quiet">{version}</span>
            </th>
            <td>{ready ? <span class="pill good">ready</span> : <span class="pill bad">not ready</span>}</td>
            <td class="number">{rate(rates.perSecond)}/s</td>
            <td class="number">{percent(rates.hitRatio)}</td>
            <td class="number">{time(rates.p99)}</td>
            <td class="number">{rate(rates.callsPerSecond)}/s</td>
            <td>{nodes.map((node) => `${node.name} ${node.state} ${node.inFlight}/${node.limit}`).join(', ')}</td>
            <td class="number">{time(ago)} ago</td>
          </tr>
        ))}
      </tbody>
    </Table>
  )
}
