/**
 * Restarts and validations, of one node or of all. A node that is not connected, or that the caller may not use, is missing
 * from the response of the cluster without an error.
 */

import { isUnfinishedError } from '../../../core/error-meanings.ts'
import { EdgeError } from '../../../core/errors.ts'
import { REFUSED_BY_RIGHTS } from '../../../core/response.ts'
import { ownField, ownText } from '../../../core/values.ts'
import type { Answer } from '../../dialect.ts'
import { answerData, answerError, answerOf } from '../answer.ts'
import { buildCall } from '../build-call.ts'
import { ALL_FAILED, type FailedItems, type Success } from '../content.ts'
import type { Conversation } from '../conversation.ts'
import { errorOf, meaningOf } from '../errors.ts'
import { successOf } from '../reply.ts'

const MISSING = 'missing in the response of the cluster'
const DENIED = { code: REFUSED_BY_RIGHTS, message: 'Permission denied', status: 403 }

/** Throws 932 if only some nodes restart, and 933 if it is unknown whether others do. */
export async function restart(conversation: Conversation): Promise<Answer> {
  const reply = await conversation.send(buildCall(conversation).call)
  const { content } = reply
  if (content.kind !== 'success' || content.error === ALL_FAILED) return answerOf(conversation, reply)
  const done = (content.items ?? []).map(String)
  if (done.length === 0) return answerError(reply, DENIED)
  const failures = content.failed.flatMap(({ code, message, ids }) => ids.map((id) => `${id}: ${code} ${message}`))
  const missing = missingWorkers(conversation, [...done, ...idsOf(content.failed)])
  const notDone = [...failures, ...missing.map((name) => `${name}: ${MISSING}`)]
  if (notDone.length === 0) return answerOf(conversation, reply)
  const code = content.failed.some((failure) => isUnfinishedError(failure.code)) ? 933 : 932
  throw new EdgeError(code, ` (carried out on ${done.join(', ')}; not on ${notDone.join('; ')})`)
}

/** The code with which a node reports that its configuration is not valid. */
const INVALID_CONFIGURATION = 1908

/** Without the verdicts of all nodes there is none. Throws 924 for nodes that are missing. */
export async function verdict(conversation: Conversation): Promise<Answer> {
  const reply = await conversation.send(buildCall(conversation).call)
  const content = successOf(reply)
  const { items = [], failed } = content
  const fault = failed.find(({ code }) => code !== INVALID_CONFIGURATION)
  if (fault !== undefined) return answerError(reply, errorOfNode(fault, conversation))
  if (items.length === 0 && failed.length === 0) return answerError(reply, DENIED)
  const names = items.map((item) => ownText(item, 'name') ?? '')
  const missing = missingWorkers(conversation, [...names, ...idsOf(failed)])
  if (missing.length > 0) throw new EdgeError(924, ` (${missing.join(', ')}: ${MISSING})`)
  const details = detailsOf(content)
  return answerData(reply, details === undefined ? { status: 'OK' } : { status: 'KO', details })
}

/** The error names the node, unless the request does. */
function errorOfNode({ code, message, ids }: FailedItems, { translation, request }: Conversation) {
  const meaning = meaningOf(code, translation.errors)
  const error = errorOf(typeof meaning === 'number' ? meaning : code, code, message)
  const isOfEvery = request.endpoint.target.kind === 'everyNode'
  return isOfEvery ? { ...error, message: `${error.message} (${ids.join(', ')})` } : error
}

/** Returns what is wrong on any node; `undefined` if all are valid. Everything except OK is KO. */
function detailsOf({ items = [], failed }: Success): readonly unknown[] | undefined {
  const refusing = items.filter((item) => ownField(item, 'status') !== 'OK')
  if (refusing.length === 0 && failed.length === 0) return undefined
  const ofItems = refusing.flatMap((item) => ownField(item, 'details') ?? [])
  return [...new Set([...ofItems, ...failed.map(({ message }) => message.replace(/^[^:]*: /, ''))])]
}

function idsOf(failed: readonly FailedItems[]): readonly string[] {
  return failed.flatMap(({ ids }) => ids)
}

/** Returns the workers that a request to all nodes has not reached. The master is the one that answers. */
function missingWorkers(conversation: Conversation, reached: readonly string[]): readonly string[] {
  if (conversation.request.endpoint.target.kind !== 'everyNode') return []
  const nodes = conversation.tools.view.nodes()
  return nodes.flatMap(({ type, name }) => (type === 'worker' && !reached.includes(name) ? [name] : []))
}
