/** Makes the v3 response of a request from the replies of the node. */

import type { ErrorRule, NoError, ResponseRule } from '../../contracts/translations/translation.ts'
import { jsonInTurns } from '../../core/long-values.ts'
import type { NodeResponse } from '../../core/node-call.ts'
import { type Answer, OF_NODE } from '../dialect.ts'
import { fill } from './call.ts'
import type { NodeProblem, Success } from './content.ts'
import { type Conversation, NO_ROWS } from './conversation.ts'
import { type ByEdge, dataOf, textOf } from './data.ts'
import { errorOf, meaningOf, type V3Error } from './errors.ts'
import { errorOfProblem } from './problems.ts'
import { type Reply, unreadable } from './reply.ts'
import { listOf } from './request-line.ts'
import { shapes } from './shapes.ts'

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
  if (meaning === 'success' && rule.kind === 'text') return fill(textOf(conversation, rule, { code }), conversation)
  return dataOf(conversation, { ...EMPTY, empty: true }, undefined)
}

function allFailed(conversation: Conversation, { code = 0, detail }: NodeProblem): Success {
  return { ...EMPTY, failed: [{ code, message: detail, ids: listOf(conversation) ?? [] }] }
}

const EMPTY: Success = { kind: 'success', data: {}, error: 0, items: [], total: 0, failed: [], message: '' }
