/**
 * A table with column titles. It scrolls sideways if it is wider than the screen. On a narrow screen each row is a card,
 * in which every value has the title of its column (style.css).
 */
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { ExportButtons, type TableExport } from './export-buttons.tsx'

/** `number`: aligned for numbers. `hidden`: the title is only for screen readers. */
export type Column = string | readonly [title: string, kind: 'number' | 'hidden']

interface TableProps {
  readonly label: string
  readonly columns: readonly Column[]
  readonly kind?: string
  /** What the buttons for CSV and JSON export. Absent: the table has no such buttons. */
  readonly exported?: TableExport
  readonly children: ComponentChildren
}

export function Table({ label, columns, kind, exported, children }: TableProps) {
  const table = useRef<HTMLTableElement>(null)
  useEffect(() => {
    for (const { cells } of table.current?.rows ?? []) titleCells(cells, columns)
  })
  return (
    <>
      {exported !== undefined && <ExportButtons label={label} source={exported} />}
      <section class="scroll" aria-label={label} tabIndex={0}>
        <table ref={table} class={kind}>
          <thead>
            <tr>
              {columns.map((column) => (
                <Head key={titleOf(column)} column={column} />
              ))}
            </tr>
          </thead>
          {children}
        </table>
      </section>
    </>
  )
}

/** The attribute is used by the style only. Titles of hidden columns are for screen readers, which read the head. */
function titleCells(cells: Iterable<HTMLTableCellElement>, columns: readonly Column[]): void {
  for (const [at, cell] of [...cells].entries()) {
    const column = columns[at]
    if (column !== undefined && (typeof column === 'string' || column[1] !== 'hidden'))
      cell.dataset.title = titleOf(column)
  }
}

function Head({ column }: { readonly column: Column }) {
  const kind = typeof column === 'string' ? undefined : column[1]
  return (
    <th scope="col" class={kind === 'number' ? kind : undefined}>
      {kind === 'hidden' ? <span class="hidden">{titleOf(column)}</span> : titleOf(column)}
    </th>
  )
}

function titleOf(column: Column): string {
  return typeof column === 'string' ? column : column[0]
}
