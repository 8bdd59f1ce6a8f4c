/** A call in the newer layout: the call, and the header that authorises it. */
import type { NodeCall } from '../../core/node-call.ts'

export interface AuthorizedCall extends NodeCall {
  /** Absent: the node has the classic layout, and its transport adds the credentials. */
  readonly authorization?: Authorization
}

export interface Authorization {
  /** Returns the value of the header; `undefined`: no header. A function, so that no copy or dump of a call shows it. */
  header(): string | undefined
  /** Whether a refusal (401) leads to another login: then it shows nothing about the credentials. */
  readonly isRenewable: boolean
  /** Greatest size of the response in bytes. Absent: `cluster.limits.response`. */
  readonly maxBytes?: number
}

/** Authorises nothing: the node refuses the call, which shows at least that it answers. */
export const ANONYMOUS: Authorization = { header: () => undefined, isRenewable: false }
