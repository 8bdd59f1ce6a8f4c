/** Why a call to a node failed, and all that follows from it: one row for each fault. */
import type { ErrorCode } from './errors.ts'

interface FaultRules {
  /** Whether the node has received the call. `maybe`: the failure itself says. `never`: the edge or the node held it back. */
  readonly sent: 'never' | 'maybe' | 'always'
  /** Whether another node may answer instead: this one has not acted, or does not answer at all. */
  readonly isReplaceable: boolean
  /**
   * What the call shows about the health of the node. `success`: the request is the cause, and the node works. `ifSlow`: a
   * failure if the call spent half of its timeout on the node, and not in the queue of the edge. `none`: no evidence.
   */
  readonly health: 'success' | 'failure' | 'ifSlow' | 'unreadable' | 'blocked' | 'none'
  readonly code: ErrorCode
  /** Of a write that was sent: the node may have carried it out. Absent: as `code`. */
  readonly codeOfSentWrite?: ErrorCode
  /** With `passthrough` the credentials are the caller's, and only the node can verify them. Absent: as `code`. */
  readonly codeOfCaller?: ErrorCode
}

export const faultRules = {
  unreachable: { sent: 'maybe', isReplaceable: true, health: 'failure', code: 924, codeOfSentWrite: 928 },
  timeout: { sent: 'maybe', isReplaceable: false, health: 'ifSlow', code: 922, codeOfSentWrite: 923 },
  cancelled: { sent: 'maybe', isReplaceable: false, health: 'ifSlow', code: 949 },
  /** No client awaited the call when it could have been sent. */
  abandoned: { sent: 'never', isReplaceable: false, health: 'none', code: 921 },
  /** At a limit of the edge, or with a status at one of the node, which has not acted. */
  overloaded: { sent: 'never', isReplaceable: true, health: 'none', code: 921 },
  ejected: { sent: 'never', isReplaceable: true, health: 'none', code: 920 },
  /** An operator has drained the node for maintenance. */
  drained: { sent: 'never', isReplaceable: true, health: 'none', code: 920 },
  unreadable: { sent: 'always', isReplaceable: false, health: 'unreadable', code: 925, codeOfSentWrite: 928 },
  tooLarge: { sent: 'always', isReplaceable: false, health: 'success', code: 926, codeOfSentWrite: 928 },
  refusedCredentials: { sent: 'always', isReplaceable: false, health: 'success', code: 927, codeOfCaller: 901 },
  /** The node refuses every request of this address for minutes. */
  blocked: { sent: 'always', isReplaceable: true, health: 'blocked', code: 920 },
  /** Too many logins of callers failed at the node, so the edge sends no other one. */
  loginsBlocked: { sent: 'never', isReplaceable: false, health: 'none', code: 927, codeOfCaller: 904 },
} as const satisfies Readonly<Record<string, FaultRules>>

export type NodeFault = keyof typeof faultRules

const rules: Readonly<Record<NodeFault, FaultRules>> = faultRules

/** Returns whether the node has sent a response, if only a refusal (`status`). */
export function isAnswered({ fault, status }: { readonly fault: NodeFault; readonly status?: number }): boolean {
  return status !== undefined || rules[fault].sent === 'always'
}

/** Returns whether the edge has sent nothing of the call. */
export function isHeldBack({ fault, status }: { readonly fault: NodeFault; readonly status?: number }): boolean {
  return status === undefined && rules[fault].sent === 'never'
}

/** Returns the error code of a failed call for a request. `ofCaller`: with the credentials of its caller. */
export function errorCodeOf(
  { fault, sent }: { readonly fault: NodeFault; readonly sent: boolean },
  request: { readonly isRead: boolean; readonly ofCaller: boolean },
): ErrorCode {
  const { code, codeOfSentWrite = code, codeOfCaller = code } = rules[fault]
  if (request.ofCaller && codeOfCaller !== code) return codeOfCaller
  return sent && !request.isRead ? codeOfSentWrite : code
}

/** Why a call failed, in the words of errors and of the log. `{}`: what the failure is about. No text contains an address. */
const failureTexts = {
  connectionRefused: 'connection refused',
  connectionTimedOut: 'connection timed out',
  connectionLost: 'connection lost before the response',
  noConnection: 'no connection ({})',
  noTls: 'no TLS connection ({})',
  noAddress: 'no address is known',
  hostNotFound: 'host name not found',
  hostNotResolved: 'host name not resolved',
  addressNotAllowed: 'address outside cluster.addresses',
  certificateOfOtherHost: 'certificate of another host',
  certificateExpired: 'certificate expired',
  notHttp: 'response is not HTTP/1.1 ({})',
  headerTooLarge: 'response header too large',
  cutShort: 'response cut short',
  status: 'status {}',
  notSuccessful: 'status is not 200',
  encoded: 'Content-Encoding was not requested',
  lengthUnclear: 'length of the body is not clear',
  contentType: 'content type {}',
  bodyTooLarge: 'more than {} bytes',
  /** What the reader of the body found. */
  unreadableBody: '{}',
  timedOut: 'timed out',
  clientDisconnected: 'client disconnected',
  fileNotComplete: 'raw file not complete before the deadline',
  notAwaited: 'no connected client awaits the response',
  closing: 'the edge is closing',
  addressBlocked: 'the node refuses the address of the edge after failed logins',
  tooManyRequests: 'too many requests',
  silent: 'no response to calls and probes',
  hanging: 'calls are not carried out within ten seconds (3021)',
  readsStuck: '{} get no response',
  earlierReadsStuck: '{} got no response',
  agentStuck: 'earlier reads about agent {} got no response',
  passedOnStuck: '{} does not answer calls that {node} passes on',
  ejected: 'ejected after failures',
  ejectedAfter: 'ejected after failures: {}',
  removed: 'removed from cluster.nodes',
  layoutUnknown: 'the layout of its API is not known yet: {}',
  drained: 'drained for maintenance',
  otherDrained: '{} is drained for maintenance',
  waitTooLong: 'expected wait exceeds the remaining time',
  tooMuchBulk: 'too many bulk calls',
  queueFull: 'queue full',
  displaced: 'displaced from the full queue',
  tooLittleTimeLeft: 'too little time left after queueing',
  queueTimedOut: 'timed out in the queue',
  passedOnQueued: 'calls for other nodes are queued',
  callLimit: 'limit of {} calls per minute reached',
  noRoom: 'limit of calls per minute: no room for {} calls',
  noCredentials: 'no credentials',
  noTokens: 'a node of the v3 layout issues no tokens',
  noTokenInLogin: 'no token in the response to the login',
  loginStatus: 'status {} for the login',
  loginUnknown: 'status {} for the login, which its API does not have; check cluster.layout',
  loginTimedOut: 'timed out during the login',
  loginsQueued: 'logins are queued',
  tooManyFailedLogins: 'too many failed logins at the node',
  tokenRefused: 'the node refuses its own token',
} as const

export type FailureReason = keyof typeof failureTexts

/** Why a call failed. */
export interface Failure {
  readonly reason: FailureReason
  /** For the `{}` in the text of the reason. */
  readonly about?: string | number
  readonly node?: string
  /** The login failed, and not the call itself. */
  readonly isOfLogin?: true
  /** Another layout than the configured one, which the node showed when it failed. */
  readonly otherLayout?: string
}

/** Returns the text of a failure, for errors and the log. */
export function describeFailure({ reason, about = '', node = '', isOfLogin, otherLayout }: Failure): string {
  const layout = otherLayout === undefined ? '' : `, its API has the ${otherLayout} layout; check cluster.layout`
  return `${failureTexts[reason].replace('{node}', () => node).replace('{}', () => String(about))}${isOfLogin ? ' (login)' : ''}${layout}`
}

/**
 * `up`: the latest call of all replicas was answered. `not tried`: no replica has called the node. `failing`: the latest
 * call failed, and the next is sent. `hangs`: the node accepts calls and answers none, or cannot carry them out. `stuck`: it
 * does not answer some kind of reads.
 */
export type NodeStateName =
  | 'up'
  | 'not tried'
  | 'failing'
  | 'hangs'
  | 'stuck'
  | 'ejected'
  | 'drained'
  | 'cut off'
  | 'full'
  | 'no address'
  | 'not listed'
