/** What one node did with a write or a check, as a value: the failure of one node must not hide what the others did. */
import { envelopeOf, isOutcomeUnknown, isUnfinished, parseBody } from '../core/envelope.ts'
import { EdgeError } from '../core/errors.ts'
import type { EdgeRequest, Handler } from '../core/request.ts'
import type { EdgeResponse, EnvelopeResponse, JoinedOrigin } from '../core/response.ts'
import { waitForJsonTurn } from '../core/turns.ts'
import { fetchPart, type PartError, type ReceivedPart, toPartError } from './node-part.ts'
import { formatClusterStatus, type NodeStatus, originWith } from './node-report.ts'

export interface NodeOutcome {
  readonly node: string
  /** By performance.now(). */
  readonly startedAt: number
  /** Milliseconds. */
  readonly rtt: number
  /** The response of a node that reports success. */
  readonly part?: ReceivedPart
  /** The `data` of that response. */
  readonly data?: unknown
  /** Why there is no success. */
  readonly error?: PartError
  /** Whether the node may have acted although it reports no success. */
  readonly isUnknown: boolean
}

/** Sends one call. Rejects only if the client of a read leaves. */
export async function callNode<R extends EdgeRequest>(
  handler: Handler<R>,
  node: string,
  request: R,
): Promise<NodeOutcome> {
  const startedAt = performance.now()
  const part = await fetchPart(namingFaults(handler, node), request, request.client.signal)
  const common = { node, startedAt, rtt: performance.now() - startedAt }
  if (!part.ok) return { ...common, error: part.error, isUnknown: mayHaveActed(part.error) }
  const { response } = part
  await waitForJsonTurn(response.body.length)
  return { ...common, part, data: parseBody(response.body).data, isUnknown: isUnfinished(response) }
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

const NO_NODE = ''

/** The outcome of a call that was not sent because there is no node for it. */
export function createUnsentOutcome(error: EdgeError): NodeOutcome {
  const isUnknown = isOutcomeUnknown(error)
  return { node: NO_NODE, startedAt: performance.now(), rtt: 0, error: toPartError(error), isUnknown }
}

/** Returns the value of `Cluster-Status`; `details` are the rows and the detail of nodes that succeeded. */
export function clusterStatusOf(
  outcomes: readonly NodeOutcome[],
  details: (outcome: NodeOutcome) => Pick<NodeStatus, 'rows' | 'detail'> = () => ({}),
): string {
  const sent = outcomes.filter(({ node }) => node !== NO_NODE)
  return formatClusterStatus(sent.map((outcome) => toNodeStatus(outcome, details)))
}

function toNodeStatus(
  outcome: NodeOutcome,
  details: (outcome: NodeOutcome) => Pick<NodeStatus, 'rows' | 'detail'>,
): NodeStatus {
  const { node, rtt, error } = outcome
  if (error === undefined) return { node, isHit: false, rtt, ...details(outcome) }
  const { code, proxyError, response } = error
  const received = response && { receivedStatus: response.status, detail: String(code) }
  return { node, isHit: false, error: proxyError, ...received }
}

/**
 * The response if no node succeeded: the response of all nodes if they agree, otherwise the error of the first node whose
 * outcome is unknown, else of the first node, with its name.
 */
export function respondWithRefusal(outcomes: readonly NodeOutcome[]): EdgeResponse {
  const [first] = outcomes
  if (first === undefined) throw new EdgeError(920)
  const agree = outcomes.every(({ error }) => error?.response !== undefined && error.code === first.error?.code)
  const refusing = outcomes.find(({ isUnknown }) => isUnknown) ?? first
  const clusterStatus = clusterStatusOf(outcomes)
  const response = refusing.error?.response
  return agree && response !== undefined
    ? { ...response, origin: originWith(clusterStatus) }
    : respondWithError(refusing, clusterStatus)
}

/** Returns the error of a node with the name of the node in its message, or throws that of the edge. */
export function respondWithError({ node, error }: NodeOutcome, clusterStatus: string): EnvelopeResponse {
  const { response, edgeError = new EdgeError(949), code = 0, message } = error ?? {}
  if (response === undefined) throw edgeError
  return envelopeOf({ error: code, message: `${message} (${node})` }, originWith(clusterStatus), response.status)
}

/** `body`: an envelope with error 0. */
export function createResponse(
  body: Buffer,
  outcomes: readonly NodeOutcome[],
  clusterStatus = clusterStatusOf(outcomes),
): EnvelopeResponse<JoinedOrigin> {
  let oldestPartAge = 0
  let freshUntil = Number.POSITIVE_INFINITY
  for (const { part, startedAt } of outcomes) {
    if (part === undefined) continue
    oldestPartAge = Math.max(oldestPartAge, startedAt - part.asOf)
    freshUntil = Math.min(freshUntil, part.freshUntil)
  }
  const origin: JoinedOrigin = {
    kind: 'joined',
    clusterStatus,
    completeness: 'complete',
    oldestPartAge,
    partsFreshFor: freshUntil - performance.now(),
    isUnfinished: outcomes.some(({ isUnknown }) => isUnknown),
  }
  return { kind: 'envelope', status: 200, body, errorNumber: 0, origin }
}
