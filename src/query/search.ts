import type { Element, Source } from './source.ts'
import { asNumber, asText, valueAt } from './value.ts'

/** What `search` asks for: elements that contain the text, or (`!text`) that do not. */
export interface Search {
  readonly negated: boolean
  readonly text: string
}

/** Reads the text of `search`: a leading `!` negates, double quotes around the rest fall away, else it is trimmed. */
export function parseSearch(text: string): Search {
  const negated = text.startsWith('!')
  const rest = negated ? text.slice(1) : text
  const quoted = rest.length > 1 && rest.startsWith('"') && rest.endsWith('"')
  return { negated, text: quoted ? rest.slice(1, -1) : rest.trim() }
}

/** A test of one element, by the rules of the source's engine. */
export function readSearch(text: string, source: Source): (element: Element) => boolean {
  const search = parseSearch(text)
  const contains = source.engine === 'database' ? like(search.text) : includes(search.text)
  const number = source.engine === 'database' ? wholeNumber(search.text) : undefined
  return (element) => {
    const found = searchedValues(element, source).some(contains) || byNumber(element, source, number)
    return found !== search.negated
  }
}

/** Agents: digits find the agent of that number, however many zeros stand before it. */
function byNumber(element: Element, source: Source, number: number | undefined): boolean {
  if (number === undefined || source.engine !== 'database' || source.searchNumber === undefined) return false
  return asNumber(valueAt(element, source.searchNumber)) === number
}

function wholeNumber(text: string): number | undefined {
  return /^[0-9]+$/.test(text) ? Number(text) : undefined
}

function searchedValues(element: Element, source: Source): string[] {
  if (typeof element === 'string') return [element]
  if (source.engine === 'array') {
    const values = source.searched ? source.searched.map((field) => valueAt(element, field)) : [element]
    return values.flatMap(leaves)
  }
  const fields = Object.keys(source.fields).filter((field) => {
    return field !== source.searchNumber && source.fields[field] !== 'status'
  })
  return [...fields, ...(source.hidden ?? [])].flatMap((field) => {
    const value = valueAt(element, field)
    return value === undefined ? [] : [asText(value)]
  })
}

/** Every value inside, however deep, as text. Names of fields are not searched. */
function leaves(value: unknown): string[] {
  if (value === undefined || value === null) return []
  return typeof value === 'object' ? Object.values(value).flatMap(leaves) : [String(value)]
}

function includes(text: string): (value: string) => boolean {
  const wanted = text.toLowerCase()
  return (value) => value.toLowerCase().includes(wanted)
}

/** SQL's LIKE '%text%': `%` in the text stands for any characters, `_` for one; case does not count. */
export function like(text: string): (value: string) => boolean {
  if (!/[%_]/.test(text)) return includes(text)
  const parts = text
    .toLowerCase()
    .split('%')
    .filter((part) => part !== '')
  return (value) => {
    let from = 0
    const within = value.toLowerCase()
    return parts.every((part) => {
      const at = indexOf(within, part, from)
      from = at + part.length
      return at >= 0
    })
  }
}

/** The first place of a part, in which `_` fits any character. Taking the first is right, as parts only need their order. */
function indexOf(value: string, part: string, from: number): number {
  for (let at = from; at + part.length <= value.length; at++) {
    let fits = 0
    while (fits < part.length && (part[fits] === '_' || part[fits] === value[at + fits])) fits++
    if (fits === part.length) return at
  }
  return -1
}
