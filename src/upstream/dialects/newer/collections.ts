/** Rows of the newer layout as classic collections and objects. */
import type { ResponseRule } from '../../../catalogue/newer/translation.ts'
import { ownEntry } from '../../../core/values.ts'
import { collect, matchRows } from '../../../query/collect.ts'
import { type CollectionPage, DEFAULT_LIMIT, MAX_LIMIT, parseCollectionRequest } from '../../../query/request.ts'
import { flattenRow, nestRow, pickFields } from '../../../query/select.ts'
import { type Source, sources } from '../../../query/sources.ts'
import { type Element, fieldValue, type Row } from '../../../query/value.ts'
import type { Conversation } from './conversation.ts'
import { RefusedError } from './errors.ts'

/** The parameters that the edge evaluates; `undefined`: the node has evaluated all. */
export type ByEdge = Readonly<Record<string, string>> | undefined

/** Returns `{items, totalItems}`. Throws RefusedError and CollectionError. */
export function collectionOf(
  conversation: Conversation,
  rows: readonly unknown[],
  total: number,
  rule: Extract<ResponseRule, { kind: 'collection' }>,
  byEdge: ByEdge,
): unknown {
  const { value } = rule
  const items = value === undefined ? rows : rows.flatMap((row) => fieldValue(row as Row, value) ?? [])
  const { select, ...evaluated } = byEdge ?? {}
  const cut = cutOf(conversation, rule.rows?.source, true)
  if (byEdge === undefined) return { items: items.map(cut), totalItems: rule.countsPage ? items.length : total }
  const page = collectByEdge(items as readonly Element[], evaluated, rule.rows?.source)
  return { items: page.items.map(cut), totalItems: page.totalItems }
}

/** Filters, sorts and pages rows as a node of the classic layout. Throws CollectionError. */
export function collectByEdge(
  rows: readonly Element[],
  query: Readonly<Record<string, string>>,
  sourceName: string | undefined,
): CollectionPage {
  const source: Source = ownEntry<Source>(sources, sourceName ?? '') ?? { engine: 'array' }
  const request = parseCollectionRequest(query, new Date())
  const { offset = 0, limit = DEFAULT_LIMIT } = request
  if (limit <= MAX_LIMIT) return collect(rows, request, source)
  // The edge itself reads more rows at once than a client may.
  const found = matchRows(rows, request, source)
  return { items: found.slice(offset, offset + limit), totalItems: found.length }
}

/** Returns the only row, or a field of it. Throws RefusedError. `isEmpty`: no row is no error. */
export function oneOf(
  conversation: Conversation,
  rows: readonly unknown[],
  { rows: rule, equal, field, missing }: Extract<ResponseRule, { kind: 'one' }>,
  isEmpty: boolean,
): unknown {
  const wanted = Object.entries(equal ?? {}).map(([name, value]) => [name, conversation.fill(value)] as const)
  const found = rows.find((row) => wanted.every(([name, value]) => (row as Row)[name] === value))
  if (found === undefined && typeof missing === 'number' && !isEmpty) throw new RefusedError(missing)
  const row = found === undefined ? {} : cutOf(conversation, rule?.source, false)(found)
  return field === undefined ? row : (row as Row)[field]
}

/** Returns the function that cuts rows to the selected fields. Collections have some fields in any case. */
function cutOf(
  { request, translation }: Conversation,
  source: string | undefined,
  isCollection: boolean,
): (row: unknown) => unknown {
  const { as, ignored } = translation.call.params?.select ?? {}
  const isOther = as !== undefined || ignored === true
  return createCut(isOther ? undefined : request.query.select, source, isCollection)
}

/**
 * Returns the function that cuts a classic row to the selected fields. The node adds some that identify the row, and so does
 * the classic layout in some collections.
 */
function createCut(
  select: string | undefined,
  source: string | undefined,
  isCollection: boolean,
): (row: unknown) => unknown {
  if (select === undefined) return (row) => row
  const rows = ownEntry<Source>(sources, source ?? '')
  const always = isCollection && rows?.engine === 'database' ? (rows.alwaysSelected ?? []) : []
  const names = [...new Set([...always, ...select.split(',')])]
  const isNested = rows?.engine === 'database' && rows.nested
  return (row) => {
    if (typeof row !== 'object' || row === null) return row
    // Such rows are nested in both layouts, but their fields have flat names in classic parameters.
    return isNested ? nestRow(pickFields(flattenRow(row as Row), names)) : pickFields(row as Row, names)
  }
}
