/** The live tail: sends each finished request to the subscribers whose filter it matches. */
import type { EventListeners, RequestEvent } from '../../core/events.ts'
import type { TailBatch, TailRequest } from './api-types.ts'

export interface TailFilter {
  /** Such as `2xx` or `404`. */
  readonly status?: string | undefined
  readonly endpoint?: string | undefined
  readonly user?: string | undefined
  readonly node?: string | undefined
  readonly cache?: string | undefined
}

export interface LiveTail extends Required<Pick<EventListeners, 'request' | 'nodeCall'>> {
  /**
   * Sends the last requests at once, then batches. Returns the function that ends the subscription, or undefined if
   * there are too many subscribers. `send` returns false if the subscriber is too slow to receive the batch.
   */
  subscribe(filter: TailFilter, send: (batch: TailBatch) => boolean): (() => void) | undefined
  close(): void
}

interface Subscriber {
  readonly matches: (request: TailRequest) => boolean
  readonly send: (batch: TailBatch) => boolean
  requests: TailRequest[]
  skipped: number
}

const MAX_SUBSCRIBERS = 20
/** Requests that a new subscriber receives at once. */
const BACKLOG = 200
/** Further requests of a batch are only counted. */
const MAX_BATCH = 100
const FLUSH_INTERVAL_MS = 250
/** Requests in progress whose nodes are remembered. */
const MAX_REQUESTS_IN_PROGRESS = 2000

/** `clock`: milliseconds since 1970. */
export function createLiveTail(clock: () => number = Date.now): LiveTail {
  const subscribers = new Set<Subscriber>()
  const backlog: TailRequest[] = []
  const nodesOf = new Map<string, string>()
  const timer = setInterval(() => {
    for (const subscriber of subscribers) flush(subscriber)
  }, FLUSH_INTERVAL_MS)
  timer.unref()
  return {
    nodeCall({ requestId, node }) {
      const known = nodesOf.get(requestId)
      if (known === undefined) nodesOf.set(requestId, node)
      else if (!known.split(', ').includes(node)) nodesOf.set(requestId, `${known}, ${node}`)
      const oldest = nodesOf.keys().next()
      if (nodesOf.size > MAX_REQUESTS_IN_PROGRESS && !oldest.done) nodesOf.delete(oldest.value)
    },
    request(event) {
      // The response to a hit came from no node; a refresh in the background may call one.
      const node = event.cache === 'hit' ? undefined : nodesOf.get(event.requestId)
      if (node !== undefined) nodesOf.delete(event.requestId)
      const request = tailRequestOf(event, clock(), node)
      backlog.push(request)
      if (backlog.length >= 2 * BACKLOG) backlog.splice(0, BACKLOG)
      for (const subscriber of subscribers) offer(subscriber, request)
    },
    subscribe(filter, send) {
      if (subscribers.size >= MAX_SUBSCRIBERS) return undefined
      const matches = matcherOf(filter)
      const subscriber: Subscriber = { matches, send, requests: backlog.filter(matches).slice(-BACKLOG), skipped: 0 }
      subscribers.add(subscriber)
      flush(subscriber)
      return () => void subscribers.delete(subscriber)
    },
    close() {
      clearInterval(timer)
      subscribers.clear()
    },
  }
}

function offer(subscriber: Subscriber, request: TailRequest): void {
  if (!subscriber.matches(request)) return
  if (subscriber.requests.length < MAX_BATCH) subscriber.requests.push(request)
  else subscriber.skipped += 1
}

function flush(subscriber: Subscriber): void {
  const { requests, skipped } = subscriber
  if (requests.length === 0 && skipped === 0) return
  // A slow subscriber loses the batch; the next batch reports the number of lost requests.
  const isSent = subscriber.send({ requests, skipped })
  subscriber.skipped = isSent ? 0 : skipped + requests.length
  subscriber.requests = []
}

function tailRequestOf(event: RequestEvent, at: number, node: string | undefined): TailRequest {
  const { requestId: id, method, route, status, ms, bytes, cache, caller, client } = event
  const request = { id, at, method, route, status, ms, bytes, cache, user: caller ?? '–', client }
  return node === undefined ? request : { ...request, node }
}

function matcherOf({ status, endpoint, user, node, cache }: TailFilter): (request: TailRequest) => boolean {
  const includes = (text: string | undefined, part: string | undefined) =>
    part === undefined || part === '' || (text ?? '').toLowerCase().includes(part.toLowerCase())
  const statusPrefix = status?.replace(/x+$/i, '') ?? ''
  return (request) =>
    String(request.status).startsWith(statusPrefix) &&
    includes(`${request.method} ${request.route}`, endpoint) &&
    includes(request.user, user) &&
    includes(request.node, node) &&
    (cache === undefined || cache === '' || request.cache === cache)
}
