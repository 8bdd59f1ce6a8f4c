/** What is known of a request while it is handled. */
import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { EdgeError } from '../core/errors.ts'
import type { RequestEvent } from '../core/events.ts'
import type { Caller } from '../core/request.ts'
import type { EdgeResponse } from '../core/response.ts'
import type { Span, SpanAttributes, StageName } from '../core/trace.ts'
import type { AddressOf } from './client-address.ts'
import { type Flags, NO_FLAGS } from './parameters.ts'

/** Begins the trace of a request, or returns `undefined` if the request is not traced. */
export type BeginTrace = (request: { readonly id: string; readonly raw: TracedRequest }) => Span | undefined

/** On what the state of a new request depends. */
export interface RequestStart {
  readonly clientAddress: AddressOf
  /** Absent: nothing is traced. */
  readonly beginTrace?: BeginTrace
}

declare module 'node:http' {
  interface IncomingMessage {
    /** Set when Fastify gives the request its id. A prepared hit has none: one more property on each request makes hits slower. */
    state?: RequestState
  }
}

/** What a trace needs of a request. */
type TracedRequest = Pick<IncomingMessage, 'method' | 'headers' | 'httpVersion' | 'socket'>

const IDS_PER_BATCH = 64
/** The ids of the next requests. */
let nextIds: string[] = []

/**
 * Makes the ids of the next requests, and returns the first one. V8 represents an id that is made alone as a tree of its parts,
 * which would stay in memory with the ring of the last requests. Ids that are parts of one text are no trees.
 */
function firstOfNewIds(): string {
  const text = Array.from({ length: IDS_PER_BATCH }, () => randomUUID()).join('')
  nextIds = text.match(/.{36}/g) ?? []
  return nextIds.pop() ?? ''
}

export class RequestState {
  readonly id = nextIds.pop() ?? firstOfNewIds()
  /** Monotonic milliseconds. */
  readonly startedAt = performance.now()
  /** The address of the client behind trusted proxies, in canonical form. */
  readonly clientAddress: string
  /** Whether that is the address of the client, not of a proxy. */
  readonly isAddressKnown: boolean
  trace: Span | undefined
  /** Absent until the request is authenticated. */
  caller: Caller | undefined = undefined
  flags: Flags = NO_FLAGS
  /** The request passed every check and was handed to the pipeline, which reports on it from then on. */
  enteredPipeline = false
  error: EdgeError | undefined = undefined
  /** What a step in front of Fastify threw. */
  fault: Error | undefined = undefined
  /** The response that was sent; absent if an error was sent, or nothing yet. */
  response: EdgeResponse | undefined = undefined
  /** Counts received bytes of the body; throws if they exceed the budget of all bodies. */
  countBody: ((bytes: number) => void) | undefined = undefined
  /** Bytes that the connection had sent before a response of unknown length. */
  bytesSentBefore: number | undefined = undefined
  #stage: Span | undefined = undefined

  constructor(raw: IncomingMessage, { clientAddress, beginTrace }: RequestStart) {
    const { address, unreadable } = clientAddress({ raw })
    this.clientAddress = address
    this.isAddressKnown = unreadable === undefined
    this.trace = beginTrace?.({ id: this.id, raw })
  }

  /** Begins the span of a stage and ends the one before with these attributes. Does nothing if no trace is recorded. */
  nextStage(stage: StageName, attributes?: SpanAttributes): void {
    if (!this.trace?.recorded) return
    this.#stage?.end(attributes)
    this.#stage = this.trace.startSpan(stage)
  }

  /** Ends the span of the current stage. The pipeline begins its own spans. */
  endStage(): void {
    this.#stage?.end()
    this.#stage = undefined
  }

  /** Ends the trace, once, when the response was sent or the client has disconnected. */
  endTrace({ method, route, status, group, cache }: RequestEvent): void {
    this.endStage()
    const disconnected = status === 0 ? { fault: 'cancelled' as const } : {}
    this.trace?.end({ method, route, status, group, cache, ...disconnected })
  }
}
