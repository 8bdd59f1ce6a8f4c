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
