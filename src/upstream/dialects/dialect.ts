/**
 * A dialect translates between the classic layout, in which clients and all rooms of the edge speak, and the layout of the
 * API of a node. There is one dialect for each layout.
 */
import type { CallNode, ClusterView, NodeFailure, NodeResponse } from '../../core/node-call.ts'
import type { EdgeRequest } from '../../core/request.ts'
import type { EdgeResponse } from '../../core/response.ts'
import type { Candidate } from '../kinds/index.ts'

export interface Dialect {
  /**
   * Asks the node of the candidate, with as many calls as its layout needs. Throws an `EdgeError` for a request that must
   * not be sent.
   */
  ask(request: EdgeRequest, candidate: Candidate, tools: DialectTools): Promise<DialectResult>
}

export interface DialectTools {
  readonly call: CallNode
  /** Milliseconds for all calls together; `undefined`: no limit. */
  readonly timeout: number | undefined
  /** The name of the master. */
  readonly master: string
  readonly view: Pick<ClusterView, 'nodes' | 'waitForReads' | 'versions'>
  /** Calls that a node answers in a minute, of all clients; 0: no limit. Absent: the default of its layout. */
  readonly perMinute?: number
}

/** The (last) response of the node, if it was asked, and its translation; or the failure of a call. */
export type DialectResult = Answer | NodeFailure

export interface Answer {
  readonly ok: true
  readonly response?: NodeResponse
  readonly translated: TranslatedResponse
}

/** `reason`: why the body of a response is not one of the API. */
export type TranslatedResponse =
  | { readonly ok: true; readonly response: EdgeResponse }
  | { readonly ok: false; readonly reason: string }
