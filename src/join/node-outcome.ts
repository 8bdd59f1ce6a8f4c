/** What one node did with a write or a check, as a value: the failure of one node must not hide what the others did. */
import { envelopeOf, parseBodyInTurns } from '../core/envelope.ts'
import { isOutcomeUnknown, isUnfinished } from '../core/error-meanings.ts'
import { EdgeError } from '../core/errors.ts'
import type { EdgeRequest, Handler } from '../core/request.ts'
import type { EdgeResponse, EnvelopeResponse, JoinedOrigin } from '../core/response.ts'
import { type PartError, type ReceivedPart, receivePart, toPartError } from './node-part.ts'
import { type NodeReport, originWith } from './node-report.ts'

export interface NodeOutcome {
  /** An empty text for a call that was not sent. */
  readonly node: string
  /** The response of a node that reports success. */
  readonly part?: ReceivedPart
  readonly data?: unknown
  /** Why there is no success. */
  readonly error?: PartError
  /** Whether the node may have acted although it reports no success. */
  readonly isUnknown: boolean
}

/** Sends one call, and records it in the report. Rejects only if the client of a read leaves. */
export async function callNode<R extends EdgeRequest>(
  report: NodeReport,
  handler: Handler<R>,
  node: string,
  request: R,
): Promise<NodeOutcome> {
  const part = await receivePart(namingFaults(handler, node), request, request.client)
  if (!part.ok) {
    report.addError(node, part.error)
    return { node, error: part.error, isUnknown: mayHaveActed(part.error) }
  }
  report.addPart(node, part)
  const { response } = part
  const { data } = await parseBodyInTurns(response.body)
  return { node, part, data, isUnknown: isUnfinished(response) }
}

/** Names the node in unexpected errors of a call: they may become the error of the whole request. */
function namingFaults<R extends EdgeRequest>(handler: Handler<R>, node: string): Handler<R> {
  return async (request) => {
    try {
      return await handler(request)
    } catch (thrown) {
      throw thrown instanceof EdgeError ? thrown : new EdgeError(949, ` (${node})`, { cause: thrown })
    }
  }
}

function mayHaveActed({ response, edgeError }: PartError): boolean {
  return response === undefined ? isOutcomeUnknown(edgeError) : isUnfinished(response)
}

/** The outcome of a call that was not sent because there is no node for it. */
export function createUnsentOutcome(error: EdgeError): NodeOutcome {
  return { node: '', error: toPartError(error), isUnknown: isOutcomeUnknown(error) }
}

/**
 * The response if no node succeeded: the response of all nodes if they agree, otherwise the error of the first node whose
 * outcome is unknown, else of the first node, with its name.
 */
export function respondWithRefusal(outcomes: readonly NodeOutcome[], report: NodeReport): EdgeResponse {
  const [first] = outcomes
  if (first === undefined) throw new EdgeError(920)
  const agree = outcomes.every(({ error }) => error?.response !== undefined && error.code === first.error?.code)
  const refusing = outcomes.find(({ isUnknown }) => isUnknown) ?? first
  const response = refusing.error?.response
  return agree && response !== undefined
    ? { ...response, origin: originWith(report.clusterStatus) }
    : respondWithError(refusing, report)
}

/** Returns the error of a node with the name of the node in its message, or throws that of the edge. */
export function respondWithError({ node, error }: NodeOutcome, { clusterStatus }: NodeReport): EnvelopeResponse {
  const { response, edgeError = new EdgeError(949), code = 0, message } = error ?? {}
  if (response === undefined) throw edgeError
  return envelopeOf({ error: code, message: `${message} (${node})` }, originWith(clusterStatus), response.status)
}

/** `body`: an envelope with error 0. */
export function createResponse(
  body: Buffer,
  outcomes: readonly NodeOutcome[],
  report: NodeReport,
): EnvelopeResponse<JoinedOrigin> {
  const isUnfinished = outcomes.some(({ isUnknown }) => isUnknown)
  // Nodes that did not act are in the body, and no further response would have them.
  const origin: JoinedOrigin = { ...report.madeOf, kind: 'joined', completeness: 'complete', isUnfinished }
  return { kind: 'envelope', status: 200, body, errorNumber: 0, origin }
}
