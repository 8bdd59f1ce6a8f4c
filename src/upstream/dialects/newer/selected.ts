/** The fields of rows that leave the edge: those that the client selected, under their classic names. */
import { ownEntry } from '../../../core/values.ts'
import { flattenRow, nestRow, pickFields } from '../../../query/select.ts'
import { type Source, sources } from '../../../query/sources.ts'
import type { Row } from '../../../query/value.ts'

/**
 * Returns the function that cuts a classic row to the selected fields. The node adds some that identify the row, and so does
 * the classic layout in some collections.
 */
export function createCut(
  select: string | undefined,
  source: string | undefined,
  isCollection: boolean,
): (row: unknown) => unknown {
  if (select === undefined) return (row) => row
  const rows = ownEntry<Source>(sources, source ?? '')
  const always = isCollection && rows?.engine === 'database' ? (rows.alwaysSelected ?? []) : []
  const names = [...new Set([...always, ...select.split(',')])]
  const isNested = rows?.engine === 'database' && rows.nested
  return (row) => {
    if (typeof row !== 'object' || row === null) return row
    // Such rows are nested in both layouts, but their fields have flat names in classic parameters.
    return isNested ? nestRow(pickFields(flattenRow(row as Row), names)) : pickFields(row as Row, names)
  }
}
