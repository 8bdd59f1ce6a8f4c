/** What the fast path of one server and its requests share. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyBaseLogger } from 'fastify'
import type { Handler } from '../core/request.ts'
import type { RequestHead } from '../listener/framing.ts'
import type { Admission } from './admit.ts'
import type { AddressOf } from './client-address.ts'
import type { ValidatedUrl } from './edge-request.ts'
import type { WriteLine } from './request-log.ts'
import type { BeginTrace, Handover, HitEvent, RequestEventListener } from './request-state.ts'

export interface FastPathOptions {
  readonly handle: Handler
  readonly log: FastifyBaseLogger
  /** Writes whole lines of the log; absent: all lines go through the logger. */
  readonly writeLine?: WriteLine
  readonly compressionMinBytes: number
  readonly observe?: RequestEventListener
  readonly beginTrace?: BeginTrace
  readonly clientAddress: AddressOf
}

/** A URL that was found valid. */
export interface KnownUrl extends ValidatedUrl {
  /** Lists of permissions that were found to be sufficient. */
  readonly sufficient: WeakSet<readonly string[]>
}

/** What the requests on the fast path of one server share. */
export interface FastPathContext {
  readonly options: FastPathOptions
  admission: Admission | undefined
  logHit(event: HitEvent): void
  /** Continues on the regular path. */
  leave(request: UnfinishedRequest): void
}

/** A request for a known URL. */
export interface KnownRequest {
  readonly url: KnownUrl
  readonly head: RequestHead
  readonly method: 'GET' | 'HEAD'
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/** A request that the fast path has begun to answer. */
export type UnfinishedRequest = Handover & Pick<KnownRequest, 'request' | 'response'>
