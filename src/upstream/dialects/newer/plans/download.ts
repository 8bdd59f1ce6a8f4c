/** Files of the ruleset as such: the newer layout returns them under a path of their own, as a stream. */
import { Readable } from 'node:stream'
import { ownEntry } from '../../../../core/values.ts'
import type { Answer } from '../../dialect.ts'
import { answerError } from '../answer.ts'
import type { Conversation } from '../conversation.ts'
import { errorOfProblem } from '../errors.ts'
import type { RunPlan } from './plan.ts'

/** `list`: the plan of requests for the list of files. */
export function download(list: RunPlan): RunPlan {
  return async (conversation) => {
    const { request, translation } = conversation
    const { raw } = request.endpoint.response
    const name = raw && ownEntry(request.query, raw.when)
    if (raw === undefined || name === undefined || translation.file === undefined) return list(conversation)
    const params = { file: name }
    const response = await conversation.open({ method: 'GET', path: translation.file, params, query: { raw: 'true' } })
    if (!(response.body instanceof Readable))
      return answerMissing(conversation, await conversation.read(response), name)
    const { length, body: stream } = response
    const file = { kind: 'file', status: 200, type: raw.type, ...(length !== undefined && { length }), stream } as const
    return { ok: true, response, translated: { ok: true, response: file } }
  }
}

/** The node names a file that it lacks as a failed item, and refuses a name that no file can have without a code. */
function answerMissing(
  conversation: Conversation,
  reply: Awaited<ReturnType<Conversation['read']>>,
  name: string,
): Answer {
  const { content } = reply
  const error = content.kind === 'problem' && content.code !== undefined && errorOfProblem(conversation, content)
  if (typeof error === 'object') return answerError(reply, error)
  return answerError(reply, { code: 700, message: `File not found: ${name}`, status: 404 })
}
