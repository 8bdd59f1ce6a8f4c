/** What differs between the two contracts in requests and responses for collections. */
import type { Contract, RowKind } from '../contracts/endpoint.ts'
import { ownEntry } from '../core/values.ts'
import { isComputable } from './computable.ts'
import { type Condition, conditionsOf, parseQuery } from './grammar.ts'
import { parseSort } from './order.ts'
import { type CollectionRequest, parseCollectionRequest } from './request.ts'
import { type FieldKind, pages, type Source, sources } from './sources.ts'
import { v4Sources } from './v4-sources.ts'

interface CollectionContract {
  /** The members of `data` with the rows of a page, and with the number of rows on all pages. */
  readonly rowsName: string
  readonly totalName: string
  /** Whether responses are written with the text around the rows that the node has written. */
  readonly framedByNode: boolean
  readonly sources: Readonly<Record<RowKind, Source>>
  /** Returns a request in the words of `CollectionRequest`; `undefined`: it has none for what the request asks. */
  parse(query: Readonly<Record<string, string>>, now: Date): CollectionRequest | undefined
  /** Whether the manager computes the same as this room. */
  isComputable(request: CollectionRequest, source: Source): boolean
}

const v3: CollectionContract = {
  rowsName: 'items',
  totalName: 'totalItems',
  framedByNode: false,
  sources: { pages, ...sources },
  parse: parseCollectionRequest,
  isComputable,
}

const v4: CollectionContract = {
  rowsName: 'affected_items',
  totalName: 'total_affected_items',
  framedByNode: true,
  sources: v4Sources,
  parse: parseV4,
  isComputable: isComputableInV4,
}

export const collectionContracts: Readonly<Record<Contract, CollectionContract>> = { v3, v4 }

/**
 * A `-` negates a search, where the v3 contract has a `!`. Quotes are removed from everywhere in a search. A space
 * in a sort is part of a name.
 */
function parseV4(query: Readonly<Record<string, string>>, now: Date): CollectionRequest | undefined {
  const { search, distinct = 'false', ...rest } = query
  if (rest.sort?.includes(' ')) return undefined
  const isDistinct = distinct.toLowerCase() === 'false' ? undefined : ({ distinct: true } as const)
  if (search === undefined) return { ...parseCollectionRequest(rest, now), ...isDistinct }
  const isNegated = search.startsWith('-')
  const text = isNegated ? search.slice(1) : search
  if (/^!|["']/.test(text) || text.trim() === '') return undefined
  return { ...parseCollectionRequest({ ...rest, search: isNegated ? `!${text}` : text }, now), ...isDistinct }
}

/**
 * Decides which requests of the v4 contract the edge may compute in place of the manager. Each part is one that the
 * source of the collection names; the rules of the v3 contract, whose engines are the same, hold too.
 */
function isComputableInV4(request: CollectionRequest, source: Source): boolean {
  const { sort, search, select, q, distinct, filters = {} } = request
  const names = Object.keys(filters)
  const conditions = names.length + Number(search !== undefined) + Number(q !== undefined)
  if (distinct && (!source.hasDistinctValues || select === undefined || select.includes(','))) return false
  if (!names.every((name) => ownEntry(source.filters, name) !== undefined)) return false
  if (search !== undefined && source.noSearch) return false
  if (select !== undefined && source.selectsWith && !select.split(',').includes(source.selectsWith)) return false
  if (sort !== undefined && !isPlainSort(sort, source)) return false
  // Whether a listed value counts as missing if another condition excludes its row, is not known.
  if (conditions > 1 && names.some((name) => isOfExisting(source, name))) return false
  return isComputable(request, source) && (q === undefined || isPlainQuery(q, source))
}

function isOfExisting({ filters }: Source, name: string): boolean {
  const filter = ownEntry(filters, name)
  return filter?.by === 'listed' && filter.mustExist === true
}

/** Decoders refuse two fields. Of a sign alone it is known what it means for collections of texts only. */
function isPlainSort(sort: string, source: Source): boolean {
  const { fields } = parseSort(sort)
  if (fields.length === 0) return source.engine === 'array' && source.caseSensitiveOrder === true
  const [field = ''] = fields
  if (fields.length > 1) return false
  if (source.engine === 'array') return source.sortable?.includes(field) === true
  const kind = ownEntry(source.fields, field)
  return kind !== undefined && kind !== 'opaque'
}

function isPlainQuery(q: string, source: Source): boolean {
  const parsed = parseQuery(q)
  return parsed !== undefined && conditionsOf(parsed).every((condition) => isPlainCondition(condition, source))
}

/**
 * Texts are neither ordered nor, in lists, searched for a part. Numbers are compared with digits; a database, which has
 * agent `000` as 0, ignores zeros in front of them.
 */
function isPlainCondition({ field, operator, value }: Condition, source: Source): boolean {
  if (value === 'null' || value === 'all') return false
  const kind: FieldKind | undefined =
    source.engine === 'array' ? ownEntry(source.plainFields, field) : ownEntry(source.fields, field)
  if (kind === 'number')
    return operator !== '~' && (source.engine === 'database' ? /^[0-9]+$/ : /^(?:0|[1-9][0-9]*)$/).test(value)
  if (operator === '=' || operator === '!=') return kind === 'text' || kind === 'word'
  return operator === '~' && source.engine === 'database' && kind === 'text' && !value.includes('_')
}
