/** Makes the v3 `data` of a response, by the rule of the translation. */

import { collectInTurns } from '../../collections/collect.ts'
import { type CollectionPage, parseCollectionRequest } from '../../collections/request.ts'
import { flattenRow, nestRow, pickFields } from '../../collections/select.ts'
import { type Source, sources } from '../../collections/sources.ts'
import { type Element, fieldValue, type Row } from '../../collections/value.ts'
import type { ResponseRule, TextVariant } from '../../contracts/translations/translation.ts'
import { inTurns } from '../../core/long-lists.ts'
import { ownEntry } from '../../core/values.ts'
import { affectedOf } from './affected.ts'
import { fill } from './call.ts'
import type { Success } from './content.ts'
import type { Conversation } from './conversation.ts'
import { RefusedError } from './errors.ts'
import { createRowConverter } from './rows.ts'
import { shapes } from './shapes.ts'

/** The parameters that the edge evaluates; `undefined`: the node has evaluated all. */
export type ByEdge = Readonly<Record<string, string>> | undefined

/** Returns the v3 `data`. Throws RefusedError and CollectionError. `empty`: there is nothing, which is no error. */
export async function dataOf(
  conversation: Conversation,
  content: Success & { readonly empty?: true },
  byEdge: ByEdge,
): Promise<unknown> {
  const { response: rule } = conversation.translation
  const convert = createRowConverter(conversation.rows)
  const items = content.items ?? []
  const converted = async (): Promise<unknown[]> => {
    const rows: unknown[] = []
    for await (const part of inTurns(items)) for (const item of part) rows.push(convert(item))
    return rows
  }
  switch (rule.kind) {
    case 'collection':
      return collectionOf(conversation, await converted(), content.total, rule, byEdge)
    case 'one':
      return oneOf(conversation, await converted(), rule, content.empty === true)
    case 'object': {
      const converted = convert(content.data) as Row
      const data = rule.always === undefined ? converted : { ...rule.always, ...converted }
      return rule.only === undefined ? data : pickFields(data, rule.only)
    }
    case 'array':
      return converted()
    case 'keyed':
      return convert(Object.assign({}, ...items))
    case 'text':
      return fill(textOf(conversation, rule, content), conversation)
    case 'affected':
      return affectedOf(conversation, content, rule)
    case 'own':
      return shapes[rule.shape](conversation, content)
  }
}

/** Returns `{items, totalItems}`. Throws RefusedError and CollectionError. */
async function collectionOf(
  conversation: Conversation,
  rows: readonly unknown[],
  total: number,
  rule: Extract<ResponseRule, { kind: 'collection' }>,
  byEdge: ByEdge,
): Promise<unknown> {
  const { value } = rule
  const items = value === undefined ? rows : rows.flatMap((row) => fieldValue(row as Row, value) ?? [])
  const { select, ...evaluated } = byEdge ?? {}
  const cut = cutOf(conversation, rule.rows?.source, true)
  if (byEdge === undefined) return { items: items.map(cut), totalItems: rule.countsPage ? items.length : total }
  const page = await collectByEdge(items as readonly Element[], evaluated, rule.rows?.source)
  return { items: page.items.map(cut), totalItems: page.totalItems }
}

/** Filters, sorts and pages rows as a node of the v3 layout. Throws CollectionError. */
export async function collectByEdge(
  rows: readonly Element[],
  query: Readonly<Record<string, string>>,
  sourceName: string | undefined,
): Promise<CollectionPage> {
  const source: Source = ownEntry<Source>(sources, sourceName ?? '') ?? { engine: 'array' }
  // The edge itself reads more rows at once than a client may.
  const request = parseCollectionRequest(query, new Date())
  return collectInTurns(rows, (row) => row, request, source, Number.POSITIVE_INFINITY)
}

/** Returns the only row, or a field of it. Throws RefusedError. `isEmpty`: no row is no error. */
function oneOf(
  conversation: Conversation,
  rows: readonly unknown[],
  { rows: rule, equal, field, missing }: Extract<ResponseRule, { kind: 'one' }>,
  isEmpty: boolean,
): unknown {
  const wanted = Object.entries(equal ?? {}).map(([name, value]) => [name, fill(value, conversation)] as const)
  const found = rows.find((row) => wanted.every(([name, value]) => (row as Row)[name] === value))
  if (found === undefined && typeof missing === 'number' && !isEmpty) throw new RefusedError(missing)
  const row = found === undefined ? {} : cutOf(conversation, rule?.source, false)(found)
  return field === undefined ? row : (row as Row)[field]
}

/**
 * Returns the function that cuts a v3 row to the selected fields. The node adds some that identify the row, and so does
 * the v3 layout in some collections.
 */
function cutOf(
  { request, translation }: Conversation,
  source: string | undefined,
  isCollection: boolean,
): (row: unknown) => unknown {
  const { as, ignored } = translation.call.params?.select ?? {}
  const select = as !== undefined || ignored === true ? undefined : request.query.select
  if (select === undefined) return (row) => row
  const rows = ownEntry<Source>(sources, source ?? '')
  const always = isCollection && rows?.engine === 'database' ? (rows.alwaysSelected ?? []) : []
  const names = [...new Set([...always, ...select.split(',')])]
  const isNested = rows?.engine === 'database' && rows.nested
  return (row) => {
    if (typeof row !== 'object' || row === null) return row
    // Such rows are nested in both layouts, but their fields have flat names in v3 parameters.
    return isNested ? nestRow(pickFields(flattenRow(row as Row), names)) : pickFields(row as Row, names)
  }
}

export function textOf(
  { request }: Conversation,
  { text, variants = [] }: Extract<ResponseRule, { kind: 'text' }>,
  { message, code }: { readonly message?: string; readonly code?: number | undefined },
): string {
  const applies = ({ query, agent, message: part, error }: TextVariant) =>
    (query === undefined || Object.hasOwn(request.query, query)) &&
    (agent === undefined || ownEntry(request.params, 'agent_id') === agent) &&
    (part === undefined || message?.includes(part) === true) &&
    (error === undefined || error === code)
  return variants.find(applies)?.text ?? text
}
