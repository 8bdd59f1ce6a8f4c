/** How full the local tier of each replica and Redis are. */
import type { Capacity } from '../../server/cache-types.ts'
import { usePoll } from '../api.ts'
import type { ExportRow } from '../export.ts'
import { formatBytes, formatCount, formatPercent, NONE } from '../format.ts'
import { type Column, Table } from '../table.tsx'

const POLL_INTERVAL_MS = 5000

const COLUMNS: readonly Column[] = [
  'Store',
  ...['Used', 'Limit', 'Entries', 'Evicted for lack of memory'].map((title) => [title, 'number'] as const),
]

interface StoreRow {
  readonly name: string
  /** Absent: not known. */
  readonly bytes?: number | undefined
  /** `undefined`: not known. `null`: there is none. */
  readonly limit?: number | null
  readonly entries?: number | undefined
  readonly evicted?: number | undefined
}

/** Shows nothing until it is loaded, and nothing without a store. */
export function CapacitySection() {
  const { data } = usePoll<Capacity>('/api/capacity', POLL_INTERVAL_MS)
  const rows = data === undefined ? [] : rowsOf(data)
  if (rows.length === 0) return null
  return (
    <>
      <h2>Capacity</h2>
      <Table label="Capacity" columns={COLUMNS} exported={{ name: 'capacity', rows: () => rows.map(exportRowOf) }}>
        <tbody>
          {rows.map(({ name, bytes, limit, entries, evicted }) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td class="number">{describeUse(bytes, limit)}</td>
              <td class="number">{limit === null ? 'none' : shown(limit, formatBytes)}</td>
              <td class="number">{shown(entries, formatCount)}</td>
              <td class="number">{shown(evicted, formatCount)}</td>
            </tr>
          ))}
        </tbody>
      </Table>
    </>
  )
}

function rowsOf({ replicas, redis }: Capacity): readonly StoreRow[] {
  const local = replicas.map(({ name, local: { evictions, ...state } }) => ({
    name: `Local tier of ${name}`,
    ...state,
    evicted: evictions.limit,
  }))
  if (redis === undefined) return local
  const { memory, entries } = redis
  if (memory === undefined) return [...local, { name: 'Redis (has not replied)' }]
  const { bytes, limit = null, policy, evictions } = memory
  return [...local, { name: `Redis (${policy})`, bytes, limit, entries, evicted: evictions.limit }]
}

function describeUse(bytes: number | undefined, limit: number | null | undefined): string {
  if (bytes === undefined) return NONE
  return limit ? `${formatBytes(bytes)} (${formatPercent(bytes / limit)})` : formatBytes(bytes)
}

function shown(value: number | undefined, format: (value: number) => string): string {
  return value === undefined ? NONE : format(value)
}

function exportRowOf({ name, bytes, limit, entries, evicted }: StoreRow): ExportRow {
  const counts = { entries: entries ?? '', evictedForLackOfMemory: evicted ?? '' }
  return { store: name, usedBytes: bytes ?? '', limitBytes: limit ?? '', ...counts }
}
