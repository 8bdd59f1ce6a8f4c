/** The nodes of the manager cluster as this replica sees them, and all replicas. */
import { useSignal } from '@preact/signals'
import type { Now } from '../../server/api-types.ts'
import type { NodeSummary, Nodes } from '../../server/node-types.ts'
import { usePoll } from '../api.ts'
import { formatAge, formatCount, formatDuration } from '../format.ts'
import { describeDrain, Load, NodeState } from '../node-state.tsx'
import { type Column, Table } from '../table.tsx'
import { Drain } from './drain.tsx'
import { Joined } from './joined-responses.tsx'
import { nodeRowOf } from './node-exports.ts'
import { Replicas } from './replicas.tsx'
import './nodes.css'

const POLL_INTERVAL_MS = 2000

const baseColumns: readonly Column[] = ['Node', 'State', ['In flight', 'number'], ['Queued', 'number']]
const callColumns: readonly Column[] = [
  ['Calls', 'number'],
  ['Failed', 'number'],
  ['Error responses', 'number'],
  ['p50', 'number'],
  ['p99', 'number'],
  'Last failure',
]

export function NodesView({ now }: { readonly now: Now | undefined }) {
  const { data, error, reload } = usePoll<Nodes>('/api/nodes', POLL_INTERVAL_MS)
  const chosen = useSignal<string | undefined>(undefined)
  if (data === undefined) return <p class="quiet">{error ?? 'Loading …'}</p>
  const node = data.nodes.find(({ name }) => name === chosen.value)
  return (
    <>
      <h1>Nodes</h1>
      <p class="quiet">
        As seen by {now?.edge.name ?? 'this replica'}; calls in flight are those of all replicas. Latencies and counts
        of calls cover the last five minutes. Failed: no usable response. Error responses: a status from 400.
      </p>
      <NodeTable data={data} onChoose={(name) => (chosen.value = name)} />
      {node !== undefined && (
        <Drain
          node={node}
          data={data}
          inFlight={inFlightOf(node, data)}
          user={now?.operator.name ?? ''}
          onClose={() => (chosen.value = undefined)}
          onChanged={reload}
        />
      )}
      <h2>Replicas of the edge</h2>
      <Replicas data={data} now={now} />
      <h2>Last joined responses</h2>
      <Joined data={data} self={now?.edge.name ?? 'this replica'} />
    </>
  )
}

/** Returns the calls in flight of all replicas, by their last reports. */
function inFlightOf({ name, inFlight }: NodeSummary, { replicas }: Nodes): number {
  const others = (replicas ?? []).flatMap(({ nodes }) => nodes.filter((node) => node.name === name))
  return others.reduce((all, node) => all + node.inFlight, inFlight)
}

interface NodeTableProps {
  readonly data: Nodes
  onChoose(name: string): void
}

function NodeTable({ data, onChoose }: NodeTableProps) {
  const { nodes, mayDrain } = data
  const hasBudget = nodes.some(({ budget }) => budget !== undefined)
  const columns: readonly Column[] = [
    ...baseColumns,
    ...(hasBudget ? [['Last minute', 'number'] as const] : []),
    ...callColumns,
    ...(mayDrain ? [['Actions', 'hidden'] as const] : []),
  ]
  return (
    <Table label="Nodes" columns={columns} kind="nodes" exported={{ name: 'nodes', rows: () => nodes.map(nodeRowOf) }}>
      <tbody>
        {nodes.map((node) => (
          <tr key={node.name}>
            <NodeCells node={node} inFlight={inFlightOf(node, data)} hasBudget={hasBudget} />
            {mayDrain && <Action node={node} onChoose={onChoose} />}
          </tr>
        ))}
      </tbody>
    </Table>
  )
}

interface NodeCellsProps {
  readonly node: NodeSummary
  /** Of all replicas. */
  readonly inFlight: number
  readonly hasBudget: boolean
}

function NodeCells({ node, inFlight, hasBudget }: NodeCellsProps) {
  const { name, type, version, layout, limit, queue, budget, p50, p99, calls, failed, errorResponses } = node
  return (
    <>
      <th scope="row">
        {name}{' '}
        <span class="part quiet">{[type, version, layout && `${layout} layout`].filter(Boolean).join(' · ')}</span>
      </th>
      <td>
        <State node={node} />
      </td>
      <td class="number">
        <Load value={inFlight} of={limit} /> {formatCount(inFlight)} of {formatCount(limit)}
        {node.inFlight !== inFlight && <span class="part quiet">{formatCount(node.inFlight)} by this replica</span>}
      </td>
      <td class="number">{formatCount(queue)}</td>
      {hasBudget && (
        <td class="number">
          {budget === undefined ? 'no limit' : `${formatCount(budget.used)} of ${formatCount(budget.limit)}`}
        </td>
      )}
      <td class="number">{formatCount(calls)}</td>
      <td class={failed > 0 ? 'number bad' : 'number'}>{formatCount(failed)}</td>
      <td class="number">{formatCount(errorResponses)}</td>
      <td class="number">{formatDuration(p50)}</td>
      <td class="number">{formatDuration(p99)}</td>
      <LastFailure node={node} />
    </>
  )
}

function State({ node: { state, ejectedFor, drain } }: { readonly node: NodeSummary }) {
  return (
    <>
      <NodeState state={state} />
      {drain !== undefined && <span class="part quiet">{describeDrain(drain)}</span>}
      {drain === undefined && ejectedFor !== undefined && (
        <span class="part quiet">for {formatDuration(Math.ceil(ejectedFor / 1000) * 1000)} more</span>
      )}
    </>
  )
}

function LastFailure({ node: { lastFailure } }: { readonly node: NodeSummary }) {
  if (lastFailure === undefined) return <td class="quiet">none</td>
  const { fault, detail, ago } = lastFailure
  // No line break between a number and its unit.
  const time = `${formatAge(ago)} ago`.replaceAll(' ', '\u00a0')
  return <td class="last-failure">{`${fault}: ${detail} · ${time}`}</td>
}

/** A node without address receives no calls, so there is nothing to drain. */
function Action({
  node: { name, state, drain },
  onChoose,
}: { readonly node: NodeSummary } & Omit<NodeTableProps, 'data'>) {
  if (drain === undefined && state === 'no address') return <td />
  return (
    <td>
      <button type="button" aria-label={drain ? `Put back ${name}` : `Drain ${name}`} onClick={() => onChoose(name)}>
        {drain ? 'Put back …' : 'Drain …'}
      </button>
    </td>
  )
}
