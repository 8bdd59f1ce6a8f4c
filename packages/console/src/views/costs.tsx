/** Who costs the manager what: the node time of all replicas by caller and by endpoint. */
import type { ComponentChildren } from 'preact'
import type { CallerCost, CostCounts, Costs, EndpointCost } from '../../server/request-types.ts'
import { usePoll } from '../api.ts'
import type { ExportRow } from '../export.ts'
import { formatCount, formatDuration, formatPercent } from '../format.ts'
import { type Column, Table } from '../table.tsx'

const POLL_INTERVAL_MS = 10_000
/** Rows of each table. The exports have all. */
const MAX_ROWS = 8

const countColumns: readonly Column[] = [
  ['Node time', 'number'],
  ['Share', 'number'],
  ['Calls', 'number'],
  ['Requests', 'number'],
  ['Hits', 'number'],
]
const callerColumns: readonly Column[] = ['Caller', ...countColumns]
const endpointColumns: readonly Column[] = ['Endpoint', 'Caller', ...countColumns]

export function CostsSection() {
  const { data, error } = usePoll<Costs>('/api/costs', POLL_INTERVAL_MS)
  return (
    <section aria-labelledby="costs">
      <h2 id="costs">
        Costs <span class="quiet">who costs the manager what{data !== undefined && `: ${periodOf(data)}`}</span>
      </h2>
      {data === undefined ? <p class="quiet">{error ?? 'Loading …'}</p> : <CostTables costs={data} />}
    </section>
  )
}

function periodOf({ seconds, replicas }: Costs): string {
  const of = replicas === 1 ? 'this replica' : `all ${replicas} replicas`
  return `last ${formatDuration(seconds * 1000)}, ${of}`
}

function CostTables({ costs }: { readonly costs: Costs }) {
  const { total, callers, endpoints } = costs
  if (total.calls === 0) return <p class="quiet">No request has caused a call to a node.</p>
  return (
    <>
      <p class="quiet">
        {formatDuration(total.nodeTime)} of node time in {formatCount(total.calls)} calls.
        {callers.some(({ caller }) => caller === null) &&
          ` ${nameOf(null)}: calls that no single request caused, such as refreshes ahead.`}
      </p>
      <CostTable label="Costs by caller" name="costs-by-caller" columns={callerColumns} rows={callers} total={total}>
        {({ caller }) => <th scope="row">{nameOf(caller)}</th>}
      </CostTable>
      <CostTable
        label="Costs by endpoint"
        name="costs-by-endpoint"
        columns={endpointColumns}
        rows={endpoints}
        total={total}
      >
        {({ endpoint, caller }) => (
          <>
            <th scope="row" class="mono">
              {endpoint}
            </th>
            <td>{nameOf(caller)}</td>
          </>
        )}
      </CostTable>
    </>
  )
}

interface CostTableProps<Row> {
  readonly label: string
  /** Of the exported file. */
  readonly name: string
  readonly columns: readonly Column[]
  /** The costliest first. */
  readonly rows: readonly Row[]
  readonly total: CostCounts
  /** Returns the cells that name a row. */
  readonly children: (row: Row) => ComponentChildren
}

function CostTable<Row extends CallerCost | EndpointCost>(props: CostTableProps<Row>) {
  const { label, name, columns, rows, total, children: namesOf } = props
  const costly = rows.filter(({ calls }) => calls > 0)
  return (
    <Table label={label} columns={columns} kind="costs" exported={{ name, rows: () => rows.map(exportRowOf) }}>
      <tbody>
        {costly.slice(0, MAX_ROWS).map((row) => (
          <tr key={JSON.stringify([row.caller, 'endpoint' in row && row.endpoint])}>
            {namesOf(row)}
            <td class="number">{formatDuration(row.nodeTime)}</td>
            <td class="number">{formatPercent(shareOf(row.nodeTime, total.nodeTime))}</td>
            <td class="number">{formatCount(row.calls)}</td>
            <td class="number">{formatCount(row.requests)}</td>
            <td class="number">
              {formatCount(row.hits)}{' '}
              {row.requests > 0 && <span class="quiet">{formatPercent(shareOf(row.hits, row.requests))}</span>}
            </td>
          </tr>
        ))}
      </tbody>
    </Table>
  )
}

function exportRowOf({ nodeTime, ...row }: CallerCost | EndpointCost): ExportRow {
  return { ...row, nodeTimeMs: nodeTime }
}

function nameOf(caller: string | null): string {
  return caller ?? '(edge)'
}

function shareOf(part: number, whole: number): number | undefined {
  return whole === 0 ? undefined : part / whole
}
