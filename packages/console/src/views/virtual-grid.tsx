/**
 * A table of any length. Only visible rows are rendered; keys move through all rows. On a narrow screen each row is a card:
 * the first value, and the others with the titles of their columns (style.css).
 */
import { elementScroll, observeElementOffset, observeElementRect, Virtualizer } from '@tanstack/virtual-core'
import { useEffect, useLayoutEffect, useReducer, useRef, useState } from 'preact/hooks'

interface GridProps<Row> {
  readonly label: string
  readonly count: number
  readonly columns: readonly (readonly [field: string, title: string, kind: string])[]
  /** A field; a leading `-` sorts in descending order. */
  readonly sort: string
  onSort(field: string): void
  /** Returns undefined while the row is being fetched. */
  row(at: number): Row | undefined
  cells(row: Row): readonly string[]
  onOpen(row: Row): void
}

const ROW_HEIGHT_PX = 30
const NARROW_ROW_HEIGHT_PX = 84
/** As in style.css. */
const NARROW = '(max-width: 880px)'
const OVERSCAN_ROWS = 8
/** The header stays visible. */
const HEADER_HEIGHT_PX = 30

export function VirtualGrid<Row>(props: GridProps<Row>) {
  const { label, count, columns, sort, onSort } = props
  const box = useRef<HTMLDivElement>(null)
  const [at, setAt] = useState(0)
  const grid = useVirtual(box, count)
  const focused = Math.min(at, Math.max(0, count - 1))
  const onKeyDown = (event: KeyboardEvent): void => {
    const row = props.row(focused)
    if (event.key === 'Enter' && row !== undefined && event.target === box.current) props.onOpen(row)
    const step = stepOf(event.key, Math.max(1, Math.floor((box.current?.clientHeight ?? 0) / grid.height) - 1))
    if (step === undefined || count === 0) return
    event.preventDefault()
    const next = Math.max(0, Math.min(count - 1, focused + step))
    setAt(next)
    grid.virtual.scrollToIndex(next)
  }
  return (
    <div
      ref={box}
      class="grid"
      role="grid"
      aria-label={`${label}: arrows move, Enter opens`}
      aria-rowcount={count + 1}
      aria-colcount={columns.length}
      tabIndex={0}
      onKeyDown={onKeyDown}
      aria-activedescendant={
        grid.virtual.getVirtualItems().some(({ index }) => index === focused) ? `row-${focused}` : undefined
      }
    >
      <div role="rowgroup" class="grid-top">
        <div role="row" aria-rowindex={1} class="grid-head">
          {columns.map(([field, title, kind]) => (
            <span key={field} role="columnheader" class={kind} aria-sort={ariaSortOf(sort, field)}>
              <button type="button" class="plain" onClick={() => onSort(field)}>
                {title}
                {sort.replace('-', '') === field && <span aria-hidden="true"> {sort.startsWith('-') ? '↓' : '↑'}</span>}
              </button>
            </span>
          ))}
        </div>
      </div>
      <div role="rowgroup" class="grid-all" style={{ height: `${grid.virtual.getTotalSize()}px` }}>
        {grid.virtual.getVirtualItems().map((item) => (
          <GridRow
            key={item.index}
            {...props}
            index={item.index}
            start={item.start - HEADER_HEIGHT_PX}
            height={grid.height}
            focused={item.index === focused}
            onFocus={() => setAt(item.index)}
          />
        ))}
      </div>
    </div>
  )
}

interface RowProps<Row> extends GridProps<Row> {
  readonly index: number
  readonly start: number
  readonly height: number
  readonly focused: boolean
  onFocus(): void
}

function GridRow<Row>({ index, start, height, focused, columns, row, cells, onOpen, onFocus }: RowProps<Row>) {
  const found = row(index)
  const texts = found === undefined ? columns.map(() => '…') : cells(found)
  const open = (): void => {
    onFocus()
    if (found !== undefined) onOpen(found)
  }
  return (
    <div
      id={`row-${index}`}
      role="row"
      aria-rowindex={index + 2}
      aria-selected={focused}
      class="grid-row"
      style={{ height: `${height}px`, transform: `translateY(${start}px)` }}
      onClick={open}
    >
      {texts.map((text, at) => (
        <span key={columns[at]?.[0]} role="gridcell" class={columns[at]?.[2]} data-title={columns[at]?.[1]}>
          {text}
        </span>
      ))}
    </div>
  )
}

function useVirtual(box: { readonly current: HTMLDivElement | null }, count: number) {
  const [, redraw] = useReducer<number, void>((value) => value + 1, 0)
  const narrow = matchMedia(NARROW).matches
  const height = narrow ? NARROW_ROW_HEIGHT_PX : ROW_HEIGHT_PX
  const options = {
    count,
    getScrollElement: () => box.current,
    estimateSize: () => height,
    overscan: OVERSCAN_ROWS,
    scrollMargin: HEADER_HEIGHT_PX,
    scrollPaddingStart: HEADER_HEIGHT_PX,
    scrollToFn: elementScroll,
    observeElementRect,
    observeElementOffset,
    onChange: () => redraw(),
  }
  const [virtual] = useState(() => new Virtualizer<HTMLDivElement, HTMLDivElement>(options))
  virtual.setOptions(options)
  useEffect(() => virtual._didMount(), [virtual])
  // Before the browser paints: rows of the new height at the places of the old one overlap.
  useLayoutEffect(() => virtual.measure(), [virtual, height])
  useEffect(() => {
    virtual._willUpdate()
  })
  return { virtual, height }
}

function stepOf(key: string, page: number): number | undefined {
  const steps: Record<string, number> = {
    ArrowDown: 1,
    ArrowUp: -1,
    PageDown: page,
    PageUp: -page,
    Home: Number.NEGATIVE_INFINITY,
    End: Number.POSITIVE_INFINITY,
  }
  return Object.hasOwn(steps, key) ? steps[key] : undefined
}

function ariaSortOf(sort: string, field: string): 'ascending' | 'descending' | 'none' {
  if (sort.replace('-', '') !== field) return 'none'
  return sort.startsWith('-') ? 'descending' : 'ascending'
}
