/** Filters of a list. They stand in the address: what is chosen at once, what is written when its writer pauses. */
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { place, refine } from './place.ts'

const PAUSE = 300

export function Filters({ children }: { readonly children: ComponentChildren }) {
  return (
    <form class="filters" onSubmit={(event) => event.preventDefault()} aria-label="Filter">
      {children}
    </form>
  )
}

interface WrittenProps {
  readonly field: string
  readonly label: string
  readonly hint: string
  /** The key `/` leads to it. */
  readonly search?: boolean
  readonly wide?: boolean
}

/** Holds what is being written: the page is drawn anew all the time, and must not put back what the address says. */
export function Written({ field, label, hint, search = false, wide = false }: WrittenProps) {
  const asked = place.value.query.get(field) ?? ''
  const [text, setText] = useState(asked)
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  useEffect(() => {
    if (timer.current === undefined) setText(asked)
  }, [asked])
  useEffect(() => () => clearTimeout(timer.current), [])
  const write = (value: string): void => {
    setText(value)
    clearTimeout(timer.current)
    timer.current = setTimeout(() => {
      timer.current = undefined
      choose(field, value)
    }, PAUSE)
  }
  return (
    <label class={wide ? 'wide' : undefined}>
      {label}
      <input
        type="search"
        value={text}
        placeholder={hint}
        onInput={({ currentTarget }) => write(currentTarget.value)}
        data-search={search ? '' : undefined}
      />
    </label>
  )
}

type Choice = string | readonly [value: string, title: string]

interface ChosenProps {
  readonly field: string
  readonly label: string
  readonly among: readonly Choice[]
}

export function Chosen({ field, label, among }: ChosenProps) {
  return (
    <label>
      {label}
      <select
        value={place.value.query.get(field) ?? ''}
        onChange={({ currentTarget }) => choose(field, currentTarget.value)}
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

function choose(field: string, value: string): void {
  refine({ ...Object.fromEntries(place.peek().query), [field]: value })
}
