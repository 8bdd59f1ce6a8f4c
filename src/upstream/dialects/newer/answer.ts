/** Makes the classic response of a request from the replies of the node. */
import type { ErrorRule, ResponseRule } from '../../../catalogue/newer/translation.ts'
import { ownEntry } from '../../../core/values.ts'
import { collect } from '../../../query/collect.ts'
import { CollectionError, parseCollectionRequest } from '../../../query/request.ts'
import { pickFields } from '../../../query/select.ts'
import { type Source, sources } from '../../../query/sources.ts'
import type { Row } from '../../../query/value.ts'
import type { Answer } from '../dialect.ts'
import type { Success } from './content.ts'
import type { Conversation, Reply } from './conversation.ts'
import { type ClassicError, classicError, errorOfProblem, meaningOf } from './errors.ts'
import { createRowConverter } from './rows.ts'
import { shapes } from './shapes.ts'

/** Returns the answer of a reply. `byEdge`: parameters that the edge evaluates over the rows. */
export function answerOf(conversation: Conversation, reply: Reply, byEdge?: Readonly<Record<string, string>>): Answer {
  const { content, response } = reply
  const { translation } = conversation
  switch (content.kind) {
    case 'file':
      return answer(reply, 200, { error: 0, data: content.text })
    case 'problem': {
      const error = errorOfProblem(content, translation.errors)
      if (typeof error !== 'string') return answerError(reply, error)
      return answer(reply, 200, { error: 0, data: dataWithout(conversation, error) })
    }
    case 'success': {
      const error = errorOfWhole(content, translation.response, translation.errors)
      if (typeof error === 'object') return answerError(reply, error)
      if (error !== undefined) return answer(reply, 200, { error: 0, data: dataWithout(conversation, error) })
      try {
        return answer(reply, 200, { error: 0, data: dataOf(conversation, content, byEdge) })
      } catch (fault) {
        if (!(fault instanceof CollectionError)) throw fault
        return answerError({ response, content }, { code: fault.code, message: fault.message, status: 200 })
      }
    }
  }
}

export function answerError(reply: Reply, { code, message, status }: ClassicError): Answer {
  return answer(reply, status, { error: code, message })
}

/** Returns the answer with this envelope. */
export function answer(
  { response }: Reply,
  status: number,
  envelope: { readonly error: number; readonly data?: unknown; readonly message?: string },
): Answer {
  const body = Buffer.from(JSON.stringify(envelope))
  return {
    ok: true,
    response,
    translated: { ok: true, response: { kind: 'json', status, body, errorNumber: envelope.error } },
  }
}

/** Returns the error if nothing was done and the classic layout has an error of the whole request for it. */
function errorOfWhole(
  { items, failed, error }: Success,
  rule: ResponseRule,
  errors: Readonly<Record<number, ErrorRule>> | undefined,
): ClassicError | 'empty' | 'success' | undefined {
  const [first] = failed
  if (first === undefined || error !== 1 || (items !== undefined && items.length > 0)) return undefined
  if (rule.kind === 'affected') return undefined
  const meaning = meaningOf(first.code, errors)
  return typeof meaning === 'string' ? meaning : classicError(meaning, first.code, first.message)
}

function dataWithout(conversation: Conversation, meaning: 'empty' | 'success'): unknown {
  const empty: Success = { kind: 'success', data: {}, error: 0, items: [], total: 0, failed: [], message: '' }
  return meaning === 'empty' ? dataOf(conversation, empty, undefined) : dataOf(conversation, empty, undefined)
}

/** Returns the classic `data`. Throws CollectionError. */
export function dataOf(
  conversation: Conversation,
  content: Success,
  byEdge: Readonly<Record<string, string>> | undefined,
): unknown {
  const { response: rule } = conversation.translation
  const convert = createRowConverter('rows' in rule ? rule.rows : undefined)
  const items = content.items ?? []
  switch (rule.kind) {
    case 'collection':
      return collectionOf(conversation, items.map(convert), content.total, rule, byEdge)
    case 'one': {
      const row = items.length === 0 ? {} : cutToSelected(conversation, convert(items[0]))
      return rule.field === undefined ? row : (row as Row)[rule.field]
    }
    case 'object':
      return convert(content.data)
    case 'array':
      return items.map(convert)
    case 'keyed':
      return convert(Object.assign({}, ...items))
    case 'text':
      return conversation.fill(rule.text)
    case 'affected':
      return affectedOf(content, rule)
    case 'own':
      return shapes[rule.shape](conversation, content)
  }
}

function collectionOf(
  conversation: Conversation,
  rows: readonly unknown[],
  total: number,
  rule: Extract<ResponseRule, { kind: 'collection' }>,
  byEdge: Readonly<Record<string, string>> | undefined,
): unknown {
  const items = rule.value === undefined ? rows : rows.map((row) => (row as Row)[rule.value ?? ''])
  if (byEdge === undefined) return { items: items.map((row) => cutToSelected(conversation, row)), totalItems: total }
  const source: Source = ownEntry<Source>(sources, rule.rows?.source ?? '') ?? { engine: 'array' }
  return collect(items as readonly Row[], parseCollectionRequest(byEdge, new Date()), source)
}

/** The node adds fields to those that were selected. */
function cutToSelected({ request }: Conversation, row: unknown): unknown {
  const { select } = request.query
  return select === undefined || typeof row !== 'object' || row === null
    ? row
    : pickFields(row as Row, select.split(','))
}

function affectedOf(
  { items = [], failed }: Success,
  { all, some = all, list = 'affected_agents' }: Extract<ResponseRule, { kind: 'affected' }>,
): unknown {
  const failedIds = failed.flatMap(({ code, message, ids }) => ids.map((id) => ({ id, error: { message, code } })))
  return { msg: failed.length === 0 ? all : some, [list]: items, ...(failed.length > 0 && { failed_ids: failedIds }) }
}
