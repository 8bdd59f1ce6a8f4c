/** JSON bodies of the console API (`/api/…` of the operations listener). Times are milliseconds, sizes are bytes. */

import type { NodeState } from '../../../src/status/node-types.ts'
import type { CacheState, Problem } from '../../../src/status/problem-types.ts'
import type { ClientPort } from '../../../src/status/view-types.ts'
import type { Rates } from './node-types.ts'

/** `GET /api/now`. */
export interface Now {
  readonly edge: {
    readonly name: string
    readonly version: string
    readonly uptime: number
    /** The address of the first port for clients. */
    readonly url: string
    readonly ports: readonly ClientPort[]
    readonly ready: boolean
    /** Reasons why the edge is not ready. */
    readonly reasons: readonly string[]
  }
  /** As in `GET /api/problems`: the page needs them on every view. */
  readonly problems: readonly Problem[]
  /** The age of the oldest response that is served while no node answers, in milliseconds. Absent: none is. */
  readonly servedInOutage?: number
  readonly nodes: readonly NodeLoad[]
  readonly cache: CacheState
  /** The operator who is signed in. */
  readonly operator: { readonly name: string; readonly mayPurge: boolean }
  /** Rates of the last ten seconds, of all replicas that report. */
  readonly rates: Rates
  /** How many replicas the rates are of; 1 while the others cannot be read. */
  readonly replicas: number
  /** Counts since this replica started. */
  readonly totals: Totals
}

/** The present load of a node by the calls of this replica. */
export type NodeLoad = Pick<NodeState, 'name' | 'type' | 'state' | 'inFlight' | 'limit' | 'queue' | 'drain'>

/** `GET /api/me`: the caller. */
export interface Account {
  /** The name at the issuer, or in the users file. */
  readonly user: string
  /** The host of the issuer that signed the user in. Absent: a user of this edge. */
  readonly issuer?: string
  /** `null`: not known, because the credentials are a token of another issuer. */
  readonly roles: readonly string[] | null
  readonly permissions: readonly string[]
  /** Absent: the browser or a proxy sends the credentials with each request, so that the edge cannot end the sign-in. */
  readonly session?: {
    /** Milliseconds until the session ends. */
    readonly endsIn: number
  }
}

/** The response to `POST /sign-out`. */
export interface SignedOut {
  /** Where the browser goes: the page for signing in, or the page of the issuer that ends its session. */
  readonly next: string
}

/** Since the start. */
export interface Totals {
  readonly requests: number
  readonly hits: number
  readonly cacheable: number
  /** Calls to nodes. */
  readonly calls: number
  /** Milliseconds of node time that cache hits saved. */
  readonly saved: number
  /** Responses with a 5xx status. */
  readonly failures: number
}
