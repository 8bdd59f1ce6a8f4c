/** What one node did with a write or a check, as a value: the failure of one node must not hide what the others did. */
import { type EnvelopeContents, envelopeOf, isOutcomeUnknown, isUnfinished, parseBody } from '../core/envelope.ts'
import { EdgeError } from '../core/errors.ts'
import type { EdgeRequest, Handler } from '../core/request.ts'
import { cachedOf, type EdgeResponse, type EnvelopeResponse, type JoinedOrigin } from '../core/response.ts'
import { waitForJsonTurn } from '../core/turns.ts'
import { proxyErrorOf, timeLeftOf } from './node-part.ts'
import { formatClusterStatus, type NodeStatus, originWith } from './node-report.ts'

export interface NodeOutcome {
  readonly node: string
  /** Milliseconds. */
  readonly rtt: number
  /** Whether the node reports success. */
  readonly succeeded: boolean
  /** Whether the node may have acted although it reports no success. */
  readonly isUnknown: boolean
  readonly error?: { readonly code: number; readonly message: string }
  /** The response of the node; absent if there is none. */
  readonly response?: EnvelopeResponse
  /** Milliseconds that a response from the cache was already old when the call began. */
  readonly initialAge: number
  /** When its freshness lifetime ends, by performance.now(); Infinity if it may not be stored. */
  readonly freshUntil: number
  /** The contents of the response, or the error of the edge. */
  readonly contents: EnvelopeContents
  readonly edgeError?: EdgeError
}

/** Sends one call. Rejects only if the client of a read leaves. */
export async function callNode<R extends EdgeRequest>(
  handler: Handler<R>,
  node: string,
  request: R,
): Promise<NodeOutcome> {
  const startedAt = performance.now()
  try {
    const response = await handler(request)
    const rtt = performance.now() - startedAt
    if (response.kind === 'envelope') await waitForJsonTurn(response.body.length)
    return toOutcome(node, rtt, response)
  } catch (thrown) {
    request.client.signal.throwIfAborted()
    return toFailure(node, performance.now() - startedAt, thrown)
  }
}

const NO_NODE = ''

/** The outcome of a call that was not sent because there is no node for it. */
export function createUnsentOutcome(error: EdgeError): NodeOutcome {
  return toFailure(NO_NODE, 0, error)
}

function toOutcome(node: string, rtt: number, response: EdgeResponse): NodeOutcome {
  // Endpoints that return files are never joined.
  if (response.kind === 'file') return toFailure(node, rtt, new EdgeError(925, ` (${node}: a file instead of JSON)`))
  const contents = parseBody(response.body)
  const { error: code, message = '' } = contents
  const succeeded = code === 0
  const isUnknown = isUnfinished(response)
  const stored = cachedOf(response)?.response
  const initialAge = Math.max(0, (stored?.age ?? 0) - rtt)
  return {
    node,
    rtt,
    succeeded,
    isUnknown,
    contents,
    response,
    initialAge,
    freshUntil: performance.now() + timeLeftOf(stored),
    ...(!succeeded && { error: { code, message } }),
  }
}

function toFailure(node: string, rtt: number, thrown: unknown): NodeOutcome {
  const edgeError = thrown instanceof EdgeError ? thrown : new EdgeError(949, ` (${node})`, { cause: thrown })
  const { code, message } = edgeError
  const isUnknown = isOutcomeUnknown(edgeError)
  const contents = { error: code, message }
  const times = { rtt, initialAge: 0, freshUntil: Number.POSITIVE_INFINITY }
  return { node, ...times, succeeded: false, isUnknown, error: { code, message }, contents, edgeError }
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
  const { node, rtt, error, response, edgeError } = outcome
  if (error === undefined) return { node, isHit: false, rtt, ...details(outcome) }
  const received = response && { receivedStatus: response.status, detail: String(error.code) }
  return { node, isHit: false, error: proxyErrorOf(error.code, edgeError?.cause), ...received }
}

/**
 * The response if no node succeeded: the response of all nodes if they agree, otherwise the error of the first node whose
 * outcome is unknown, else of the first node, with its name.
 */
export function respondWithRefusal(outcomes: readonly NodeOutcome[]): EdgeResponse {
  const [first] = outcomes
  if (first === undefined) throw new EdgeError(920)
  const agree = outcomes.every(({ response, error }) => response !== undefined && error?.code === first.error?.code)
  const { response, edgeError, node, error } = outcomes.find(({ isUnknown }) => isUnknown) ?? first
  if (edgeError !== undefined) throw edgeError
  if (response === undefined) throw new EdgeError(949)
  const clusterStatus = clusterStatusOf(outcomes)
  return agree ? { ...response, origin: originWith(clusterStatus) } : withNodeName(response, node, error, clusterStatus)
}

/** Returns the error of a node with the name of the node in its message. */
export function withNodeName(
  { status, errorNumber }: EnvelopeResponse,
  node: string,
  error: NodeOutcome['error'],
  clusterStatus: string,
): EnvelopeResponse {
  return envelopeOf({ error: errorNumber, message: `${error?.message} (${node})` }, originWith(clusterStatus), status)
}

/** `body`: an envelope with error 0. */
export function createResponse(
  body: Buffer,
  outcomes: readonly NodeOutcome[],
  clusterStatus = clusterStatusOf(outcomes),
): EnvelopeResponse<JoinedOrigin> {
  const oldestPartAge = outcomes.reduce((oldest, { initialAge }) => Math.max(oldest, initialAge), 0)
  const freshUntil = outcomes.reduce((first, outcome) => Math.min(first, outcome.freshUntil), Number.POSITIVE_INFINITY)
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
