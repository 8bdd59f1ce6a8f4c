/** Predicates for the conditions of `q`, and for single values by the kind of their field. */
import { ownEntry } from '../core/values.ts'
import { type Condition, NO_LIMITS, type Operator, parseQuery, type Query } from './grammar.ts'
import { compareSortValues, type SortValue } from './order.ts'
import { type Predicate, testValue } from './predicate.ts'
import { CollectionError } from './request.ts'
import type { DatabaseSource, FieldKind, Source } from './sources.ts'
import { createLikeMatcher, type Element, toDatabaseNumber, toNumber, toText, wordOf } from './value.ts'

const SECONDS_PER_UNIT = { d: 86_400, h: 3_600, m: 60, s: 1 } as const
type Unit = keyof typeof SECONDS_PER_UNIT

/** Returns the seconds of a time frame: `90`, `1d`, or several parts in a row (`1d2h`). Throws CollectionError 1411. */
export function parseTimeFrame(text: string): number {
  if (/^[0-9]+$/.test(text)) return Number(text)
  if (!/^(?:[0-9]+[dhms])+$/.test(text)) throw new CollectionError(1411)
  const parts = text.split(/(?<=[dhms])/)
  return parts.reduce((sum, part) => sum + Number(part.slice(0, -1)) * SECONDS_PER_UNIT[part.slice(-1) as Unit], 0)
}

/** Returns the time `seconds` before `now` as the manager writes times, such as `2026-11-20 12:00:00`. */
export function timestampBefore(now: Date, seconds: number): string {
  const time = new Date(Math.max(now.getTime() - seconds * 1000, 0))
  return time.toISOString().slice(0, 19).replace('T', ' ')
}

type Comparison = Exclude<Operator, '~'>
/** A predicate over a value that is neither missing nor null. */
export type ValuePredicate = (value: unknown) => boolean

/** The agent states, as `wordOf` returns them. */
const AGENT_STATES: readonly string[] = ['active', 'disconnected', 'pending', 'neverconnected']

/**
 * Returns the predicate of a `q` text. Throws CollectionError 1407 (syntax), and for database sources 1408 (unknown
 * field), 1409 (operator not supported by the field), 1411 and 1412 (dates) and 1729 (agent state). A field without a
 * value matches no condition except `=null`.
 */
export function compileConditions(text: string, source: Source, now: Date): Predicate {
  const query = parseQuery(text, NO_LIMITS)
  if (query === undefined) throw new CollectionError(1407)
  const compile = source.engine === 'database' ? databaseCondition(source, now) : arrayCondition
  return compileQuery(query, compile) ?? { kind: 'every', of: [] }
}

/** Conditions that match everything (`undefined`) are left out, as if they were not in the text. */
function compileQuery(query: Query, compile: (condition: Condition) => Predicate | undefined): Predicate | undefined {
  if (query.kind === 'condition') return compile(query)
  const parts = query.of.flatMap((part) => compileQuery(part, compile) ?? [])
  if (parts.length === 0) return undefined
  return { kind: query.kind === 'all' ? 'every' : 'some', of: parts }
}

function databaseCondition(source: DatabaseSource, now: Date): (condition: Condition) => Predicate | undefined {
  return ({ field, operator, value }) => {
    const kind = ownEntry(source.fields, field)
    if (kind === undefined) throw new CollectionError(1408)
    if (value === 'all') return undefined
    if (value === 'null')
      return { kind: 'field', field, holds: (found) => (found === undefined) !== (operator === '!=') }
    return testValue(field, compileValueTest(kind, operator, value, now))
  }
}

/** Returns the predicate that compares values of a field of this kind with the text of a condition. */
export function compileValueTest(kind: FieldKind, operator: Operator, value: string, now: Date): ValuePredicate {
  switch (kind) {
    case 'text':
    case 'word':
    case 'opaque':
      return textTest(operator, value)
    case 'number':
    case 'real':
      return operator === '~' ? digitsTest(value) : numberTest(operator, value)
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

/** Ignores case; `~` is LIKE of SQL. */
function textTest(operator: Operator, value: string): ValuePredicate {
  if (operator === '~') {
    const contains = createLikeMatcher(value)
    return (found) => contains(toText(found))
  }
  const holds = comparing(operator)
  const wanted = value.toLowerCase()
  return (found) => holds(toText(found).toLowerCase(), wanted)
}

/** A value that is not a number is compared as text and is greater than all numbers. */
function numberTest(operator: Comparison, value: string): ValuePredicate {
  const holds = comparing(operator)
  const wanted = toDatabaseNumber(value) ?? value.toLowerCase()
  return (found) => holds(toDatabaseNumber(found) ?? toText(found).toLowerCase(), wanted)
}

/** The column holds a number, which has no leading zeros as text: `id~0` does not find agent `003`. */
function digitsTest(value: string): ValuePredicate {
  const contains = createLikeMatcher(value)
  return (found) => contains(toText(toDatabaseNumber(found) ?? found))
}

/** `!=` means that no member is equal. */
function anyMember(operator: Operator, test: ValuePredicate): ValuePredicate {
  return (found) => (Array.isArray(found) ? found.some(test) : test(found)) !== (operator === '!=')
}

function statusTest(operator: Operator, value: string): ValuePredicate {
  if (operator !== '=' && operator !== '!=') throw new CollectionError(1409)
  const wanted = wordOf(value)
  if (!AGENT_STATES.includes(wanted)) throw new CollectionError(1729)
  return (found) => (wordOf(toText(found)) === wanted) === (operator === '=')
}

/** `<1d`: within the last day. `>1d`: longer ago. A calendar day is compared as text. */
function dateTest(operator: Operator, value: string, now: Date): ValuePredicate {
  if (/^[0-9]{4}-[0-9]{2}-[0-9]{2}/.test(value)) return textTest(operator, value)
  if (!/^[0-9]+(?:$|[a-z])/.test(value)) throw new CollectionError(1412)
  const limit = timestampBefore(now, parseTimeFrame(value))
  const within = operator === '<' || operator === '='
  return (found) => (within ? toText(found) > limit : toText(found) < limit)
}

/** Array sources: comparison is case-sensitive, `~` means "begins with", and only top-level fields are found. */
function arrayCondition({ field, operator, value }: Condition): Predicate {
  const test = anyMember(operator, exactTest(operator === '!=' ? '=' : operator, value))
  const holds = (element: Element) => {
    const found = typeof element === 'object' && Object.hasOwn(element, field) ? element[field] : undefined
    return found !== undefined && found !== null && test(found)
  }
  return { kind: 'element', holds }
}

/** A number in a row is compared as a number. It is never equal to a text that is not one. */
function exactTest(operator: Operator, value: string): ValuePredicate {
  if (operator === '~') return (found) => toText(found).startsWith(value)
  const holds = comparing(operator)
  return (found) => (typeof found === 'number' ? holds(found, toNumber(value) ?? value) : holds(toText(found), value))
}

/** Either side of `<` and `>` is ASCII, since `q` admits nothing else, so code units compare as code points do. */
function comparing(operator: Comparison): (a: SortValue, b: SortValue) => boolean {
  switch (operator) {
    case '=':
      return (a, b) => compareSortValues(a, b) === 0
    case '!=':
      return (a, b) => compareSortValues(a, b) !== 0
    case '<':
      return (a, b) => compareSortValues(a, b) < 0
    case '>':
      return (a, b) => compareSortValues(a, b) > 0
  }
}
