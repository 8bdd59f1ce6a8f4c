/** Filters of a list. The address holds their values: a selection at once, a text after a pause in typing. */
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { replaceQuery, route } from './route.ts'

const DEBOUNCE_MS = 300

export function Filters({ children }: { readonly children: ComponentChildren }) {
  return (
    <form class="filters" onSubmit={(event) => event.preventDefault()} aria-label="Filter">
      {children}
    </form>
  )
}

interface TextFilterProps {
  readonly name: string
  readonly label: string
  readonly placeholder: string
  /** For a whole number: phones show digits. */
  readonly numeric?: boolean
  /** The key `/` focuses this field. */
  readonly search?: boolean
  readonly wide?: boolean
}

/** Holds the text during typing, because each poll renders the page and would restore the text of the address. */
export function TextFilter(props: TextFilterProps) {
  const { name: field, label, placeholder: hint, numeric = false, search = false, wide = false } = props
  const applied = route.value.query.get(field) ?? ''
  const [text, setText] = useState(applied)
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  useEffect(() => {
    if (timer.current === undefined) setText(applied)
  }, [applied])
  useEffect(() => () => clearTimeout(timer.current), [])
  const onText = (value: string): void => {
    setText(value)
    clearTimeout(timer.current)
    timer.current = setTimeout(() => {
      timer.current = undefined
      setFilter(field, value)
    }, DEBOUNCE_MS)
  }
  return (
    <label class={wide ? 'wide' : undefined}>
      {label}
      <input
        type="search"
        value={text}
        placeholder={hint}
        inputMode={numeric ? 'numeric' : undefined}
        onInput={({ currentTarget }) => onText(currentTarget.value)}
        data-search={search ? '' : undefined}
      />
    </label>
  )
}

type Choice = string | readonly [value: string, title: string]

interface SelectFilterProps {
  readonly name: string
  readonly label: string
  readonly choices: readonly Choice[]
}

export function SelectFilter({ name: field, label, choices: among }: SelectFilterProps) {
  return (
    <label>
      {label}
      <select
        value={route.value.query.get(field) ?? ''}
        onChange={({ currentTarget }) => setFilter(field, currentTarget.value)}
      >
        <option value="">any</option>
        {among.map((each) => {
          const [value, title] = typeof each === 'string' ? [each, each] : each
          return (
            <option key={value} value={value}>
              {title}
            </option>
          )
        })}
      </select>
    </label>
  )
}

function setFilter(field: string, value: string): void {
  replaceQuery({ ...Object.fromEntries(route.peek().query), [field]: value })
}
