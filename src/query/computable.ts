/**
 * Decides which requests the edge may compute in place of the manager: those of which `npm run check:queries` shows that
 * both have the same result. docs/collection-choices.md has the differences of all others.
 */
import { ownEntry } from '../core/values.ts'
import { isComputableInTable } from './computable-in-table.ts'
import { parseQuery, type Query } from './grammar.ts'
import { parseSort } from './order.ts'
import type { CollectionRequest } from './request.ts'
import type { ArraySource, Source } from './sources.ts'

/** Parentheses fail on arrays, and a value is cut at its first space. */
const NOT_PLAIN = /[() ]/

export function isComputable(request: CollectionRequest, source: Source): boolean {
  const { search, sort, q, select, filters = {} } = request
  if (!Object.keys(filters).every((name) => isKnown(name, source))) return false
  if (source.engine === 'database') return isComputableInTable(request, source)
  if (source.selectsFromRows && (search !== undefined || sort !== undefined)) return false
  if (sort !== undefined && !isPlainSort(sort, source)) return false
  // A list of values is none of the values that the manager allows.
  if (Object.entries(filters).some(([name, value]) => source.filters?.[name] !== undefined && value.includes(',')))
    return false
  if (select !== undefined && source.selectable === undefined) return false
  if (select !== undefined && source.selectsFirst && [search, sort, q].some((part) => part !== undefined)) return false
  return q === undefined || isPlain(q, source)
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
  return parsed?.ok === true && hasPlainConditions(parsed.query, plainFields)
}

function hasPlainConditions(query: Query, fields: ArraySource['plainFields']): boolean {
  if (query.kind !== 'condition') return query.of.every((part) => hasPlainConditions(part, fields))
  const kind = ownEntry(fields, query.field)
  return kind === 'text' || (kind === 'number' && query.operator !== '~' && /^[0-9]+$/.test(query.value))
}
