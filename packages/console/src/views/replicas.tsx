/** All replicas of the edge, this one first, with the sum of their rates. */

import type { Now } from '../../server/api-types.ts'
import type { Nodes, ReportedReplica } from '../../server/node-types.ts'
import { formatAge, formatCount, formatDuration, formatPercent, formatRate } from '../format.ts'
import { type Column, Table } from '../table.tsx'
import { replicaRowOf } from './node-exports.ts'

const columns: readonly Column[] = [
  'Replica',
  'State',
  ['Requests', 'number'],
  ['Hit ratio', 'number'],
  ['p99', 'number'],
  ['Calls to nodes', 'number'],
  ['In flight', 'number'],
  'Nodes',
  ['Last seen', 'number'],
]

type Row = Pick<ReportedReplica, 'name' | 'version' | 'ready' | 'draining' | 'rates' | 'nodes'> & {
  readonly ago?: number
}

export function Replicas({ data, now }: { readonly data: Nodes; readonly now: Now | undefined }) {
  const { replicas, nodes } = data
  if (now === undefined) return <p class="quiet">Loading …</p>
  const { name, version, ready } = now.edge
  const rows: readonly Row[] = [{ name, version, ready, rates: now.rates, nodes }, ...(replicas ?? [])]
  return (
    <>
      {replicas === undefined && (
        <p class="quiet">Replicas see each other only if they share a Redis. None is configured.</p>
      )}
      {replicas === null && <p class="warning">Redis is unreachable: the state of the other replicas is unknown.</p>}
      <Table
        label="Replicas"
        columns={columns}
        kind="replicas"
        exported={{ name: 'replicas', rows: () => rows.map(replicaRowOf) }}
      >
        <tbody>
          {rows.map((row, at) => (
            <ReplicaRow key={at} row={row} />
          ))}
        </tbody>
        {rows.length > 1 && <SumRow rows={rows} />}
      </Table>
    </>
  )
}

function ReplicaRow({ row: { name, version, ready, draining, rates, nodes, ago } }: { readonly row: Row }) {
  const [kind, state] = ready ? ['good', 'ready'] : draining ? ['warn', 'draining'] : ['bad', 'not ready']
  return (
    <tr>
      <th scope="row">
        {name} <span class="quiet">{ago === undefined ? `${version} · this replica` : version}</span>
      </th>
      <td>
        <span class={`pill ${kind}`}>{state}</span>
      </td>
      <td class="number">{formatRate(rates.perSecond)}/s</td>
      <td class="number">{formatPercent(rates.hitRatio)}</td>
      <td class="number">{formatDuration(rates.p99)}</td>
      <td class="number">{formatRate(rates.callsPerSecond)}/s</td>
      <td class="number">{formatCount(inFlightOf(nodes))}</td>
      <td>{describeNodes(nodes)}</td>
      <td class="number">{ago === undefined || ago < 1000 ? 'now' : `${formatAge(ago)} ago`}</td>
    </tr>
  )
}

/** A latency of all replicas cannot be derived from theirs, so the greatest one is shown. */
function SumRow({ rows }: { readonly rows: readonly Row[] }) {
  const sum = (of: (row: Row) => number) => rows.reduce((all, row) => all + of(row), 0)
  const requests = sum(({ rates }) => rates.perSecond)
  const hits = sum(({ rates }) => (rates.hitRatio ?? 0) * rates.perSecond)
  const times = rows.flatMap(({ rates }) => rates.p99 ?? [])
  return (
    <tfoot>
      <tr>
        <th scope="row">
          All {rows.length} replicas <span class="quiet">ratio by requests, greatest p99</span>
        </th>
        <td>{rows.filter(({ ready }) => ready).length} ready</td>
        <td class="number">{formatRate(requests)}/s</td>
        <td class="number">{formatPercent(requests > 0 ? hits / requests : undefined)}</td>
        <td class="number">{formatDuration(times.length > 0 ? Math.max(...times) : undefined)}</td>
        <td class="number">{formatRate(sum(({ rates }) => rates.callsPerSecond))}/s</td>
        <td class="number">{formatCount(sum(({ nodes }) => inFlightOf(nodes)))}</td>
        <td />
        <td />
      </tr>
    </tfoot>
  )
}

function inFlightOf(nodes: Row['nodes']): number {
  return nodes.reduce((all, { inFlight }) => all + inFlight, 0)
}

/** Names the nodes that are not up. */
function describeNodes(nodes: Row['nodes']): string {
  const others = nodes.filter(({ state }) => state !== 'up').map(({ name, state }) => `${name} ${state}`)
  return others.length === 0 ? `all ${nodes.length} up` : others.join(', ')
}
