/** Makes the classic response of a request from the replies of the node. */
import type { ErrorRule, NoError, ResponseRule, TextVariant } from '../../../catalogue/newer/translation.ts'
import { ownEntry } from '../../../core/values.ts'
import { collect, matchRows } from '../../../query/collect.ts'
import { type CollectionPage, DEFAULT_LIMIT, MAX_LIMIT, parseCollectionRequest } from '../../../query/request.ts'
import { pickFields } from '../../../query/select.ts'
import { type Source, sources } from '../../../query/sources.ts'
import { type Element, fieldValue, type Row } from '../../../query/value.ts'
import type { Answer } from '../dialect.ts'
import { affectedOf } from './affected.ts'
import { type ClassicError, RefusedError } from './classic-error.ts'
import type { Problem, Success } from './content.ts'
import type { Conversation, Reply } from './conversation.ts'
import { errorOf, errorOfProblem, meaningOf } from './errors.ts'
import { listOf } from './lists.ts'
import { createRowConverter } from './rows.ts'
import { createCut } from './selected.ts'
import { shapes } from './shapes.ts'

type ByEdge = Readonly<Record<string, string>> | undefined

/**
 * Returns the answer of a reply. `byEdge`: parameters that the edge evaluates over the rows. Throws RefusedError and
 * CollectionError for what the classic layout refuses.
 */
export function answerOf(conversation: Conversation, reply: Reply, byEdge?: ByEdge): Answer {
  const { content } = reply
  if (content.kind === 'file') {
    const { response: rule } = conversation.translation
    return answerData(reply, rule.kind === 'own' ? shapes[rule.shape](conversation, content) : content.text)
  }
  if (content.kind === 'problem') {
    const error = errorOfProblem(conversation, content)
    if (typeof error === 'object') return answerError(reply, error)
    if (error === 'failedItems')
      return answerData(reply, dataOf(conversation, allFailed(conversation, content), undefined))
    return answerData(reply, dataWithout(conversation, error, content.code))
  }
  const failure = failureOfWhole(conversation, content)
  if (failure === undefined) return answerData(reply, dataOf(conversation, content, byEdge))
  const { meaning, code, message } = failure
  if (typeof meaning === 'number') return answerError(reply, errorOf(meaning, code, message))
  return answerData(reply, dataWithout(conversation, meaning, code))
}

export function answerError(reply: Partial<Reply>, { code, message, status }: ClassicError): Answer {
  return answer(reply, status, { error: code, message })
}

export function answerData(reply: Partial<Reply>, data: unknown): Answer {
  return answer(reply, 200, { error: 0, data })
}

/** Returns the answer with this envelope. */
function answer(
  { response }: Partial<Reply>,
  status: number,
  envelope: { readonly error: number; readonly data?: unknown; readonly message?: string },
): Answer {
  const body = Buffer.from(JSON.stringify(envelope))
  return {
    ok: true,
    ...(response && { response }),
    translated: { ok: true, response: { kind: 'json', status, body, errorNumber: envelope.error } },
  }
}

/** Returns what it means that nothing was done, if the classic layout has an error of the whole request for it. */
function failureOfWhole(
  { translation }: Conversation,
  { items = [], failed }: Success,
): { meaning: ErrorRule; code: number; message: string } | undefined {
  const [first] = failed
  if (first === undefined || items.length > 0 || translation.response.kind === 'affected') return undefined
  const { code, message } = first
  return { meaning: meaningOf(code, translation.errors), code, message }
}

function dataWithout(conversation: Conversation, meaning: NoError, code: number | undefined): unknown {
  const { response: rule } = conversation.translation
  if (meaning === 'success' && rule.kind === 'text') return conversation.fill(textOf(conversation, rule, { code }))
  return dataOf(conversation, { ...EMPTY, empty: true }, undefined)
}

function allFailed(conversation: Conversation, { code = 0, detail }: Problem): Success {
  return { ...EMPTY, failed: [{ code, message: detail, ids: listOf(conversation) ?? [] }] }
}

const EMPTY: Success = { kind: 'success', data: {}, error: 0, items: [], total: 0, failed: [], message: '' }

/** Returns the classic `data`. Throws RefusedError and CollectionError. `empty`: there is nothing, which is no error. */
export function dataOf(
  conversation: Conversation,
  content: Success & { readonly empty?: true },
  byEdge: ByEdge,
): unknown {
  const { response: rule } = conversation.translation
  const convert = createRowConverter('rows' in rule ? rule.rows : undefined)
  const items = content.items ?? []
  switch (rule.kind) {
    case 'collection':
      return collectionOf(conversation, items.map(convert), content.total, rule, byEdge)
    case 'one':
      return oneOf(conversation, items.map(convert), rule, content.empty === true)
    case 'object': {
      const data = convert(content.data)
      return rule.only === undefined ? data : pickFields(data as Row, rule.only)
    }
    case 'array':
      return items.map(convert)
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

function collectionOf(
  conversation: Conversation,
  rows: readonly unknown[],
  total: number,
  rule: Extract<ResponseRule, { kind: 'collection' }>,
  byEdge: ByEdge,
): unknown {
  const { value } = rule
  const items = value === undefined ? rows : rows.flatMap((row) => fieldValue(row as Row, value) ?? [])
  if (rule.missing !== undefined) checkFound(items, conversation.request.query, rule.missing)
  const { select, ...evaluated } = byEdge ?? {}
  const cut = cutOf(conversation, rule.rows?.source, true)
  if (byEdge === undefined) return { items: items.map(cut), totalItems: rule.countsPage ? items.length : total }
  const page = collectByEdge(items as readonly Element[], evaluated, rule.rows?.source)
  return { items: page.items.map(cut), totalItems: page.totalItems }
}

/** Throws RefusedError if a filter names what does not exist. */
function checkFound(
  rows: readonly unknown[],
  query: Readonly<Record<string, string>>,
  { param, code }: { readonly param: string; readonly code: number },
): void {
  const wanted = query[param]
  if (wanted !== undefined && !rows.some((row) => (row as Row)[param] === wanted)) throw new RefusedError(code)
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
