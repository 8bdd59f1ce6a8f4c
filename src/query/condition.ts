import { type Operator, parseQuery, type Query } from './grammar.ts'
import { CollectionError } from './request.ts'
import type { DatabaseSource, FieldKind, Source } from './sources.ts'
import type { Element } from './value.ts'
import { asNumber, asText, compareKeys, entry, type Key, like, valueAt } from './value.ts'

const SECONDS = { d: 86_400, h: 3_600, m: 60, s: 1 } as const
type Unit = keyof typeof SECONDS

/** Seconds of a time frame: `90`, `1d`, or several parts in a row (`1d2h`). Throws 1411. */
export function timeFrame(text: string): number {
  if (/^[0-9]+$/.test(text)) return Number(text)
  if (!/^(?:[0-9]+[dhms])+$/.test(text)) throw new CollectionError(1411)
  const parts = text.match(/[0-9]+[dhms]/g) ?? []
  return parts.reduce((sum, part) => sum + Number(part.slice(0, -1)) * SECONDS[part.slice(-1) as Unit], 0)
}

/** The moment that lies `seconds` before `now`, written as the manager writes dates, to be compared as text. */
export function before(now: Date, seconds: number): string {
  const moment = new Date(Math.max(now.getTime() - seconds * 1000, 0))
  return moment.toISOString().slice(0, 19).replace('T', ' ')
}

type Comparison = Exclude<Operator, '~'>
export type Test = (element: Element) => boolean
/** A test of one value that is there. */
export type ValueTest = (value: unknown) => boolean

/** The states that agents have, as they are compared: in lower case, without blanks. */
const STATES: readonly string[] = ['active', 'disconnected', 'pending', 'neverconnected']

/**
 * A test of one element by the text of `q`. Throws 1407 (not a query), and for a database 1408 (unknown
 * field), 1409 (operator that the field does not take), 1411 and 1412 (dates), 1729 (state of an agent).
 * A field without a value fits no condition but `=null`.
 */
export function readConditions(text: string, source: Source, now: Date): Test {
  const parsed = parseQuery(text)
  if (!parsed.ok) throw new CollectionError(1407)
  const condition = source.engine === 'database' ? databaseCondition(source, now) : arrayCondition
  return testOf(parsed.query, condition) ?? (() => true)
}

type Condition = Extract<Query, { kind: 'condition' }>

/** A condition that asks for nothing (`undefined`) drops out, as if it were not written. */
function testOf(query: Query, condition: (one: Condition) => Test | undefined): Test | undefined {
  if (query.kind === 'condition') return condition(query)
  const parts = query.of.flatMap((part) => testOf(part, condition) ?? [])
  if (parts.length === 0) return undefined
  return query.kind === 'all'
    ? (element) => parts.every((part) => part(element))
    : (element) => parts.some((part) => part(element))
}

function databaseCondition(source: DatabaseSource, now: Date): (one: Condition) => Test | undefined {
  return ({ field, operator, value }) => {
    const kind = entry(source.fields, field)
    if (kind === undefined) throw new CollectionError(1408)
    if (value === 'all') return undefined
    if (value === 'null') return (element) => (valueAt(element, field) === undefined) !== (operator === '!=')
    const test = valueTest(kind, operator, value, now)
    return (element) => {
      const found = valueAt(element, field)
      return found !== undefined && test(found)
    }
  }
}

/** How a value is held against the text of a condition, by the kind of its field. */
export function valueTest(kind: FieldKind, operator: Operator, value: string, now: Date): ValueTest {
  switch (kind) {
    case 'text':
      return textTest(operator, value)
    case 'number':
      return operator === '~' ? textTest(operator, value) : numberTest(operator, value)
    case 'label':
      return textTest(operator, value.replace(/([a-z])v(?=[0-9])/i, '$1 v'))
    case 'list':
      return anyMember(operator, textTest(operator === '!=' ? '=' : operator, value))
    case 'status':
      return statusTest(operator, value)
    case 'day':
      if (!/^[0-9]{4}-[0-9]{2}-[0-9]{2}/.test(value)) throw new CollectionError(1412)
      return textTest(operator, value)
    case 'date':
      return dateTest(operator, value, now)
  }
}

/** Case does not count; `~` is SQL's LIKE. */
function textTest(operator: Operator, value: string): ValueTest {
  if (operator === '~') {
    const contains = like(value)
    return (found) => contains(asText(found))
  }
  const holds = comparing(operator)
  const wanted = value.toLowerCase()
  return (found) => holds(asText(found).toLowerCase(), wanted)
}

/** What is no number is compared as text and comes behind all numbers. */
function numberTest(operator: Comparison, value: string): ValueTest {
  const holds = comparing(operator)
  const wanted = asNumber(value) ?? value.toLowerCase()
  return (found) => holds(asNumber(found) ?? asText(found).toLowerCase(), wanted)
}

/** `!=` says that no member is equal. */
function anyMember(operator: Operator, test: ValueTest): ValueTest {
  return (found) => (Array.isArray(found) ? found.some(test) : test(found)) !== (operator === '!=')
}

function statusTest(operator: Operator, value: string): ValueTest {
  if (operator !== '=' && operator !== '!=') throw new CollectionError(1409)
  const wanted = foldStatus(value)
  if (!STATES.includes(wanted)) throw new CollectionError(1729)
  return (found) => (foldStatus(asText(found)) === wanted) === (operator === '=')
}

function foldStatus(text: string): string {
  return text.toLowerCase().replaceAll(' ', '')
}

/** `<1d`: within the last day; `>1d`: longer ago; a day is compared as text. */
function dateTest(operator: Operator, value: string, now: Date): ValueTest {
  if (/^[0-9]{4}-[0-9]{2}-[0-9]{2}/.test(value)) return textTest(operator, value)
  if (!/^[0-9]+(?:$|[a-z])/.test(value)) throw new CollectionError(1412)
  const moment = before(now, timeFrame(value))
  const within = operator === '<' || operator === '='
  return (found) => (within ? asText(found) > moment : asText(found) < moment)
}

/** Array sources: case counts, `~` is "begins with", only the fields of the element itself are found. */
function arrayCondition({ field, operator, value }: Condition): Test {
  const test = exactTest(operator === '!=' ? '=' : operator, value)
  return (element) => {
    const found = typeof element === 'object' && Object.hasOwn(element, field) ? element[field] : undefined
    return found !== undefined && found !== null && anyMember(operator, test)(found)
  }
}

/** A number is compared as one, with a text that is none it is never equal. */
function exactTest(operator: Operator, value: string): ValueTest {
  if (operator === '~') return (found) => asText(found).startsWith(value)
  const holds = comparing(operator)
  return (found) => (typeof found === 'number' ? holds(found, asNumber(value) ?? value) : holds(asText(found), value))
}

function comparing(operator: Comparison): (a: Key, b: Key) => boolean {
  const outcome = { '=': [0], '!=': [-1, 1], '<': [-1], '>': [1] }[operator]
  return (a, b) => outcome.includes(Math.sign(compareKeys(a, b)))
}
