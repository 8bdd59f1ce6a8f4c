/** A table of figures with its titles, which scrolls by itself where it is wider than the screen. */
import type { ComponentChildren } from 'preact'

/** `number`: figures stand below; `hidden`: read out, but not shown. */
export type Column = string | readonly [title: string, kind: 'number' | 'hidden']

interface TableProps {
  readonly label: string
  readonly columns: readonly Column[]
  readonly kind?: string
  readonly children: ComponentChildren
}

export function Table({ label, columns, kind, children }: TableProps) {
  return (
    <section class="scroll" aria-label={label} tabIndex={0}>
      <table class={kind}>
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
  )
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
