/**
 * The newer layout (releases 4.x of the manager): asks a node of that layout on behalf of a classic request. What an
 * endpoint needs is in the translation of its record; this folder reads it.
 */
import { EdgeError } from '../../../core/errors.ts'
import { CollectionError } from '../../../query/request.ts'
import type { Dialect, DialectResult } from '../dialect.ts'
import { answerError } from './answer.ts'
import { checkQuery } from './check-query.ts'
import { RefusedError } from './classic-error.ts'
import { CallFailedError, Conversation, UnreadableReplyError } from './conversation.ts'
import { plans } from './plans/index.ts'

export const newer: Dialect = {
  ask: async (request, candidate, tools): Promise<DialectResult> => {
    const { newer: translation, path } = request.endpoint
    if (translation === undefined) throw new EdgeError(949, '', { cause: new Error(`${path} has no translation`) })
    const conversation = new Conversation(request, translation, candidate, tools)
    try {
      checkQuery(request, translation)
      return await plans[translation.plan ?? 'oneCall'](conversation)
    } catch (error) {
      if (error instanceof CallFailedError) return error.failure
      if (error instanceof UnreadableReplyError) {
        return { ok: true, response: error.response, translated: { ok: false, reason: error.message } }
      }
      if (error instanceof RefusedError) return answerError({}, error.error)
      if (error instanceof CollectionError)
        return answerError({}, { code: error.code, message: error.message, status: 200 })
      throw error
    }
  },
}
