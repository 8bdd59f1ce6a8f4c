import { before, type Test, timeFrame, type ValueTest, valueTest } from './condition.ts'
import { CollectionError } from './request.ts'
import type { Filter, Source } from './sources.ts'
import { asNumber, asText, type Element, entry, includes, like, valueAt } from './value.ts'

type Of<By extends Filter['by']> = Extract<Filter, { by: By }>

/** A test of one element by a named parameter. Throws the code of the rule for a value that it does not know. */
export function readFilter(name: string, value: string, source: Source, now: Date): Test {
  const filter = entry(source.filters, name) ?? { by: 'equal' }
  switch (filter.by) {
    case 'equal':
      return equal(filter, name, value, source, now)
    case 'range':
      return range(filter, value)
    case 'olderThan':
      return olderThan(filter, value, now)
  }
}

function equal(filter: Of<'equal'>, name: string, value: string, source: Source, now: Date): Test {
  if (filter.everything !== undefined && value.split(',').includes(filter.everything)) return () => true
  if (filter.allowed && !filter.allowed.values.includes(value)) throw new CollectionError(filter.allowed.code)
  const fields = filter.fields ?? [name]
  const tests = fields.map((field) => ({ field, fits: fitting(field, value, source, now) }))
  return (element) => {
    return tests.some(({ field, fits }) => {
      const found = valueAt(element, field)
      return found !== undefined && fits(found)
    })
  }
}

function fitting(field: string, value: string, source: Source, now: Date): ValueTest {
  if (source.engine === 'array') {
    return (found) => (Array.isArray(found) ? found.map(asText).includes(value) : asText(found) === value)
  }
  const kind = entry(source.fields, field) ?? 'text'
  const tests = value
    .split(',')
    .map((one) => valueTest(kind === 'date' || kind === 'day' ? 'text' : kind, '=', one, now))
  return (found) => tests.some((test) => test(found))
}

function range(filter: Of<'range'>, value: string): Test {
  const [, from, to = from] = /^([0-9]+)(?:-([0-9]+))?$/.exec(value) ?? []
  if (from === undefined) throw new CollectionError(1203)
  return (element) => {
    const number = asNumber(valueAt(element, filter.field))
    return number !== undefined && number >= Number(from) && number <= Number(to)
  }
}

function olderThan(filter: Of<'olderThan'>, value: string, now: Date): Test {
  const moment = before(now, timeFrame(value))
  return (element) => {
    const found = valueAt(element, filter.field) ?? valueAt(element, filter.orElse)
    return found !== undefined && asText(found) < moment
  }
}

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
