/** A call on its way to a node: what the layers add to it, its end, and its failure if it is not sent. */
import type { Readable } from 'node:stream'
import type { NodeCall, NodeFailure, NodeResponse, NodeResult } from '../core/node-call.ts'
import { describeFailure } from '../core/node-faults.ts'
import type { Semaphore } from '../core/semaphore.ts'
import { type Deadline, withTimeout } from '../core/timing.ts'
import { watchAbandonment } from './abandoned-calls.ts'
import type { Suspicion } from './failure/suspicion.ts'
import type { CallFailure } from './node-response.ts'

/** A call on its way to its node, with what its layers have added for the inner ones (`stack.ts`). */
export interface UpstreamCall extends NodeCall {
  /** Absent: the node has the v3 layout, and its transport adds the credentials. */
  readonly authorization?: Authorization
  /** The call is the probe of this suspicion. */
  readonly probeOf?: Suspicion
  /** Absent: the transport starts it. */
  readonly deadline?: Deadline
  /** A connection that has never been idle. Absent: one of the pool. */
  readonly connection?: 'new'
  /** The call has a slot of the node. Its exchange goes on when the call has ended (`late`), as the slot does. */
  readonly hasSlot?: true
  /** To be called when the call has a slot, with the usual milliseconds of such a call. */
  readonly onSlot?: (usualTime: number) => void
  /** How many times the call was sent before. */
  readonly resend?: number
}

interface Authorization {
  /** Returns the value of the header; `undefined`: no header. A function, so that no copy or dump of a call shows it. */
  header(): string | undefined
  /** Whether a refusal (401) leads to another login: then it shows nothing about the credentials. */
  readonly isRenewable: boolean
  /** Greatest size of the response in bytes. Absent: `cluster.limits.response`. */
  readonly maxBytes?: number
}

/** Authorises nothing: the node refuses the call, which shows at least that it answers. */
export const ANONYMOUS: Authorization = { header: () => undefined, isRenewable: false }

/** Sends a call. A failure is a result; the promise never rejects. */
export type Send = (call: UpstreamCall) => Promise<NodeResult>

/** How a call ended on its node, a streamed file included. `status`: the node has answered the call. */
export interface CallEnd {
  readonly failure?: CallFailure | undefined
  readonly response?: NodeResponse
  readonly status?: number | undefined
}

/** Returns how a call ended. A streamed file ends later, with its last byte. */
export function endOf({ authorization }: UpstreamCall, result: NodeResult): CallEnd {
  if (result.ok) return { response: result.response, status: result.response.status }
  // A token has ended: a response of a node that works.
  const isRenewed = result.fault === 'refusedCredentials' && authorization?.isRenewable === true
  return isRenewed ? { status: 401 } : { failure: result, status: result.status }
}

/** The error of a streamed file whose exchange has failed. */
export class ExchangeError extends Error {
  readonly failure: CallFailure

  constructor(failure: CallFailure) {
    super(describeFailure(failure))
    this.name = 'ExchangeError'
    this.failure = failure
  }
}

/** Returns why a streamed file ended early; `undefined` if it is complete. */
export function streamFailureOf({ readableEnded, errored }: Readable): CallFailure | undefined {
  if (readableEnded) return undefined
  if (errored === null) return { fault: 'cancelled', reason: 'clientDisconnected' }
  if (!(errored instanceof ExchangeError))
    return { fault: 'unreadable', reason: 'unreadableBody', about: errored.message }
  const { fault, reason } = errored.failure
  const isAborted = reason === 'timedOut' || reason === 'clientDisconnected'
  return isAborted ? { fault, reason: 'fileNotComplete' } : { ...errored.failure, fault: 'unreadable' }
}

/**
 * Returns a copy of a call with members that it does not have. In Node 20, a spread with such members makes an object with a
 * hidden class that no other object has, which takes several times as long. A spread that replaces members is cheaper.
 */
export function copyWith<Call extends NodeCall, Members extends object>(
  call: Call,
  members: Members,
): Omit<Call, keyof Members> & Members {
  return Object.assign({}, call, members)
}

/** Returns the failure of a call that is not sent. */
export function notSent({ node }: Pick<NodeCall, 'node'>, failure: CallFailure): NodeFailure {
  return { ...failure, ok: false, node, sent: false }
}

/** Waits for a slot, at most until the timeout of the call or until its clients have left. Returns why it has none. */
export async function takeSlot(
  slots: Semaphore,
  call: Pick<NodeCall, 'timeout' | 'signal' | 'presence'>,
): Promise<'timeout' | 'abandoned' | undefined> {
  const { timeout = Number.POSITIVE_INFINITY, signal } = call
  if (timeout <= 0) return 'timeout'
  const wait = slots.take()
  if (wait === undefined) return undefined
  let endWatch = () => {}
  const abandoned = new Promise<'abandoned'>((resolve) => {
    endWatch = watchAbandonment(call, { onAbandon: () => resolve('abandoned') })
  })
  const end = Promise.race([wait.taken, abandoned])
  const fault = await withTimeout(end, timeout, 'timeout' as const, signal).catch(() => 'abandoned' as const)
  endWatch()
  if (fault !== undefined) wait.leave()
  return fault
}

/** Whether the asked node may be waiting for another one: which of them is slow, a timeout does not show. */
export function mayWaitForOther({ passedOnTo, mayBePassedOn }: NodeCall): boolean {
  return passedOnTo !== undefined || mayBePassedOn === true
}

/** Returns the route template of a call, without the method. */
export function routeOf({ endpoint }: Pick<NodeCall, 'endpoint'>): string {
  return endpoint.slice(endpoint.indexOf(' ') + 1)
}
