/** Makes the v3 response of a request from the replies of the node. */

import { collectInTurns } from '../../collections/collect.ts'
import { type CollectionPage, parseCollectionRequest } from '../../collections/request.ts'
import { flattenRow, nestRow, pickFields } from '../../collections/select.ts'
import { type Source, sources } from '../../collections/sources.ts'
import { type Element, fieldValue, type Row } from '../../collections/value.ts'
import type { ErrorRule, NoError, ResponseRule, TextVariant } from '../../contracts/translations/translation.ts'
import { jsonInTurns } from '../../core/long-values.ts'
import type { NodeResponse } from '../../core/node-call.ts'
import { inTurns } from '../../core/turns.ts'
import { ownEntry } from '../../core/values.ts'
import { type Answer, OF_NODE } from '../dialect.ts'
import { affectedOf } from './affected.ts'
import { listOf } from './build-call.ts'
import type { NodeProblem, Success } from './content.ts'
import { type Conversation, NO_ROWS } from './conversation.ts'
import { errorOf, errorOfProblem, meaningOf, RefusedError, type V3Error } from './errors.ts'
import { type Reply, unreadable } from './reply.ts'
import { createRowConverter } from './rows.ts'
import { shapes } from './shapes.ts'

/** The parameters that the edge evaluates; `undefined`: the node has evaluated all. */
type ByEdge = Readonly<Record<string, string>> | undefined

/**
 * Returns the answer of a reply. `byEdge`: parameters that the edge evaluates over the rows. Throws RefusedError and
 * CollectionError for what the v3 layout refuses.
 */
export async function answerOf(conversation: Conversation, reply: Reply, byEdge?: ByEdge): Promise<Answer> {
  const { content } = reply
  if (content.kind === 'file') {
    const { response: rule } = conversation.translation
    return answerData(reply, rule.kind === 'own' ? shapes[rule.shape](conversation, content) : content.text)
  }
  if (content.kind === 'problem') {
    const error = errorOfProblem(conversation, content)
    if (typeof error === 'object') return answerError(reply, error)
    if (error === 'failedItems')
      return answerData(reply, await dataOf(conversation, allFailed(conversation, content), undefined))
    return answerData(reply, await dataWithout(conversation, error, content.code))
  }
  checkData(conversation, reply.response, content)
  const failure = failureOfWhole(conversation, content)
  if (failure === undefined) return answerData(reply, await dataOf(conversation, content, byEdge))
  const { meaning, code, message } = failure
  if (typeof meaning === 'number') return answerError(reply, errorOf(meaning, code, message))
  return answerData(reply, await dataWithout(conversation, meaning, code))
}

/** The kinds of responses that are made of `affected_items`. */
const KINDS_OF_ITEMS: ReadonlySet<ResponseRule['kind']> = new Set(['collection', 'one', 'array', 'keyed', 'affected'])

/** Throws EndedError if the response lacks what the v3 one is made of. */
function checkData(
  { translation: { response: rule } }: Conversation,
  response: NodeResponse,
  { data, items }: Success,
): void {
  if (rule.kind === 'object' && (typeof data !== 'object' || data === null)) {
    throw unreadable(response, 'no data')
  }
  if (KINDS_OF_ITEMS.has(rule.kind) && items === undefined) throw unreadable(response, NO_ROWS)
}

/** Asks the node as often as the request needs. Throws what `Conversation.send` throws, V3Fault and EdgeError. */
export type RunPlan = (conversation: Conversation) => Promise<Answer>

export async function answerError(reply: Partial<Reply>, { code, message, status }: V3Error): Promise<Answer> {
  return answer(reply, status, { error: code, message })
}

export async function answerData(reply: Partial<Reply>, data: unknown): Promise<Answer> {
  return answer(reply, 200, { error: 0, data })
}

async function answer(
  { response }: Partial<Reply>,
  status: number,
  envelope: { readonly error: number; readonly data?: unknown; readonly message?: string },
): Promise<Answer> {
  const body = await jsonInTurns(envelope)
  return {
    ok: true,
    ...(response && { response }),
    translated: {
      ok: true,
      response: { kind: 'envelope', status, body, errorNumber: envelope.error, origin: OF_NODE },
    },
  }
}

/** Returns what it means that nothing was done, if the v3 layout has an error of the whole request for it. */
function failureOfWhole(
  { translation }: Conversation,
  { items = [], failed }: Success,
): { meaning: ErrorRule; code: number; message: string } | undefined {
  const [first] = failed
  if (first === undefined || items.length > 0 || translation.response.kind === 'affected') return undefined
  const { code, message } = first
  return { meaning: meaningOf(code, translation.errors), code, message }
}

async function dataWithout(conversation: Conversation, meaning: NoError, code: number | undefined): Promise<unknown> {
  const { response: rule } = conversation.translation
  if (meaning === 'success' && rule.kind === 'text') return conversation.fill(textOf(conversation, rule, { code }))
  return dataOf(conversation, { ...EMPTY, empty: true }, undefined)
}

function allFailed(conversation: Conversation, { code = 0, detail }: NodeProblem): Success {
  return { ...EMPTY, failed: [{ code, message: detail, ids: listOf(conversation) ?? [] }] }
}

const EMPTY: Success = { kind: 'success', data: {}, error: 0, items: [], total: 0, failed: [], message: '' }

/** Returns the v3 `data`. Throws RefusedError and CollectionError. `empty`: there is nothing, which is no error. */
async function dataOf(
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
      return conversation.fill(textOf(conversation, rule, content))
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
  const wanted = Object.entries(equal ?? {}).map(([name, value]) => [name, conversation.fill(value)] as const)
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

function textOf(
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
