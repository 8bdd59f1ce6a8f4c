/** The snapshots of collections in the memory of this replica, and the calls that they saved. */
import type { SnapshotSummary } from '../../server/cache-types.ts'
import type { ExportRow } from '../export.ts'
import { formatBytes, formatCount, formatStoredUrl } from '../format.ts'
import { type Column, Table } from '../table.tsx'

const COLUMNS: readonly Column[] = [
  'Collection',
  'Group',
  ...['Rows', 'Bytes', 'Queries answered', 'Calls to build', 'Calls saved'].map((title) => [title, 'number'] as const),
]

export function Snapshots({ snapshots }: { readonly snapshots: readonly SnapshotSummary[] }) {
  if (snapshots.length === 0) {
    return <p class="quiet">None yet. The edge builds one after two different queries of a collection.</p>
  }
  return (
    <Table label="Snapshots" columns={COLUMNS} exported={{ name: 'snapshots', rows: () => snapshots.map(exportRowOf) }}>
      <tbody>
        {[...snapshots]
          .sort((a, b) => b.bytes - a.bytes)
          .map(({ url, group, rows, bytes, queries, calls, needsAllRows }) => (
            <tr key={url}>
              <th scope="row" class="mono">
                {formatStoredUrl(url)}
              </th>
              <td>{group}</td>
              <td class="number">{formatCount(rows)}</td>
              <td class="number">{formatBytes(bytes)}</td>
              <td class="number">{formatCount(queries)}</td>
              <td class="number">{formatCount(calls)}</td>
              <td class="number">
                {needsAllRows ? (
                  <span title="Each page of these rows takes all of them, with and without a snapshot.">
                    needed anyway
                  </span>
                ) : (
                  formatCount(queries - calls)
                )}
              </td>
            </tr>
          ))}
      </tbody>
    </Table>
  )
}

function exportRowOf({ url, group, rows, bytes, queries, calls, needsAllRows }: SnapshotSummary): ExportRow {
  const callsSaved = needsAllRows ? '' : queries - calls
  return { url, group, rows, sizeBytes: bytes, queries, callsToBuild: calls, callsSaved }
}
