/**
 * Decides which requests the edge may compute in place of the manager: those of which `npm run check:queries` shows that
 * both have the same result. docs/collection-choices.md has the differences of all others.
 */
import { ownEntry } from '../core/values.ts'
import { parseSearch } from './filter.ts'
import { type Condition, conditionsOf, parseQuery, type Query } from './grammar.ts'
import { parseSort } from './order.ts'
import type { CollectionRequest } from './request.ts'
import type { ArraySource, DatabaseSource, FieldKind, Filter, Source } from './sources.ts'

/** Parentheses fail on arrays, and a value is cut at its first space. */
const NOT_PLAIN = /[() ]/

export function isComputable(request: CollectionRequest, source: Source): boolean {
  const { search, sort, q, select, filters = {} } = request
  if (!Object.keys(filters).every((name) => isKnown(name, source))) return false
  if (source.pagesOnly) return [search, sort, q, select, ...Object.keys(filters)].every((part) => part === undefined)
  if (source.engine === 'database') return isComputableInTable(request, source)
  if (source.selectsFromRows && (search !== undefined || sort !== undefined)) return false
  if (sort !== undefined && !isPlainSort(sort, source)) return false
  // A list of values is none of the values that the manager allows.
  if (Object.entries(filters).some(([name, value]) => !takesList(source.filters?.[name]) && value.includes(',')))
    return false
  if (select !== undefined && source.selectable === undefined) return false
  if (select !== undefined && source.selectsFirst && [search, sort, q].some((part) => part !== undefined)) return false
  return q === undefined || isPlain(q, source)
}

/** A parameter without an entry must equal a field, which may have a comma. */
function takesList(filter: Filter | undefined): boolean {
  return filter === undefined || filter.by === 'listed' || (filter.by === 'equal' && filter.mustExist === true)
}

function isKnown(name: string, source: Source): boolean {
  if (ownEntry(source.filters, name) !== undefined) return true
  return source.engine === 'database' ? Object.hasOwn(source.fields, name) : source.sortable?.includes(name) === true
}

/**
 * Texts have no fields, and a sort without a field fails on all other arrays. Without a list, the fields of a sort are those
 * of a row that only the node knows to be its first one.
 */
function isPlainSort(sort: string, { caseSensitiveOrder, sortable }: ArraySource): boolean {
  const { fields } = parseSort(sort)
  return caseSensitiveOrder ? fields.length === 0 : fields.length > 0 && sortable !== undefined
}

/** Whether the manager neither fails on the conditions nor understands them in another way. */
function isPlain(q: string, { plainFields }: ArraySource): boolean {
  const parsed = NOT_PLAIN.test(q) ? undefined : parseQuery(q)
  return parsed !== undefined && hasPlainConditions(parsed, plainFields)
}

function hasPlainConditions(query: Query, fields: ArraySource['plainFields']): boolean {
  if (query.kind !== 'condition') return query.of.every((part) => hasPlainConditions(part, fields))
  const kind = ownEntry(fields, query.field)
  return kind === 'text' || (kind === 'number' && query.operator !== '~' && /^[0-9]+$/.test(query.value))
}

/** The manager numbers the conditions of a field, and replaces the number 1 in the number 10 too. */
const MAX_CONDITIONS = 10
/** The manager understands one level of parentheses. */
const NESTED_PARENTHESES = /\([^)]*\(/
/** Parentheses around the whole. */
const ONE_GROUP = /^\([^()]*\)$/
/**
 * The manager writes values into the text of its statement, in which a quote ends the value and `:name` is a parameter.
 * It ignores the case of ASCII letters only.
 */
const PLAIN_TEXT = /^(?:[ -&(-9;-~]|:(?![A-Za-z_]))+$/
/** Of such a text, a stored time may contain a part, whether it is a number or a text. */
const PART_OF_TIME = /^[-+0-9 :./_%TZ]*$/i
/** The manager searches `2600.0`, and the rows have `2600`. */
const PART_OF_NUMBER = /^[-0-9._%]*$/
/** The manager writes digits as a number, without the zeros in front. */
const LEADING_ZERO = /^0[0-9]+$/
/** Agent states that are one comparison in the manager. For others it compares fields that its rows do not show. */
const PLAIN_STATES: readonly string[] = ['active', 'neverconnected', 'never connected']

function isComputableInTable(request: CollectionRequest, source: DatabaseSource): boolean {
  const { search, sort, q, filters = {} } = request
  // The manager gives several fields a random precedence.
  if (sort !== undefined && parseSort(sort).fields.length > 1) return false
  if (search !== undefined && !isPlainSearch(search, source)) return false
  if (!Object.entries(filters).every(([name, value]) => isPlainFilter(name, value, source))) return false
  const query = q === undefined ? undefined : parsePlain(q, source)
  if (query === 'not plain') return false
  const hasAlternatives = query?.kind === 'any' && !ONE_GROUP.test(q ?? '')
  const conditions = [...Object.keys(filters), search, q].filter((part) => part !== undefined).length
  return !hasAlternatives || (conditions === 1 && source.hasOwnCondition !== true)
}

function isPlainSearch(search: string, { fields, hidden = [], storedTimes = [] }: DatabaseSource): boolean {
  // A search also finds fields that are never returned.
  if (hidden.length > 0 || !PLAIN_TEXT.test(search)) return false
  const kinds = Object.values(fields)
  if (kinds.includes('real') && PART_OF_NUMBER.test(parseSearch(search).text)) return false
  return !((kinds.includes('day') || storedTimes.length > 0) && PART_OF_TIME.test(parseSearch(search).text))
}

function isPlainFilter(name: string, value: string, { fields, filters }: DatabaseSource): boolean {
  const filter = ownEntry(filters, name) ?? { by: 'equal' }
  if (filter.by === 'listed') return value.split(',').every((one) => PLAIN_TEXT.test(one) && one !== 'all')
  if (filter.by !== 'equal') return false
  if (value === filter.matchAll) return true
  // The manager takes the alternatives of a filter for those of the next condition too, and releases 4.x for one text.
  if (value.includes(',') || value === 'all' || !PLAIN_TEXT.test(value)) return false
  return (filter.fields ?? [name]).every((field) => isPlainValue(field, ownEntry(fields, field) ?? 'text', '=', value))
}

/** Unknown fields pass: they are refused when the conditions are compiled. */
function parsePlain(q: string, source: DatabaseSource): Query | 'not plain' {
  const parsed = parseQuery(q)
  if (parsed === undefined || NESTED_PARENTHESES.test(q)) return 'not plain'
  const conditions = conditionsOf(parsed)
  const isPlain = conditions.length <= MAX_CONDITIONS && conditions.every((one) => isPlainCondition(one, source))
  return isPlain ? parsed : 'not plain'
}

function isPlainCondition(
  { field, operator, value }: Condition,
  { fields, filters, storedTimes }: DatabaseSource,
): boolean {
  const kind = ownEntry(fields, field) ?? 'text'
  if (value === 'all' || storedTimes?.includes(field)) return false
  // The manager refuses other values of such a field, and reads it in another place of its statement.
  const filter = ownEntry(filters, field)
  if (filter?.by === 'equal' && filter.allowed !== undefined) return false
  if (value === 'null') return operator === '=' && (kind === 'text' || kind === 'number' || kind === 'label')
  return isPlainValue(field, kind, operator, value)
}

/** Whether the manager compares values of this field as this room does. `null` is the absence of a value. */
function isPlainValue(field: string, kind: FieldKind, operator: Condition['operator'], value: string): boolean {
  // The manager puts a space in front of each v behind a letter.
  if (value === 'null' || (field === 'version' && /[a-z]v/i.test(value))) return false
  switch (kind) {
    case 'text':
    case 'label':
      return !LEADING_ZERO.test(value)
    case 'number':
      return true
    case 'real':
      return operator !== '~'
    case 'status':
      return operator === '=' && PLAIN_STATES.includes(value.toLowerCase())
    case 'word':
      return operator === '=' || operator === '!='
    case 'date':
    case 'day':
    case 'list':
    case 'opaque':
      return false
  }
}
