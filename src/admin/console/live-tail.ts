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

export interface TailSubscriber {
  /** Returns false if the subscriber is too slow to receive the batch. */
  send(batch: TailBatch): boolean
  /** Called if a newer subscriber takes the place. */
  onReplaced(): void
}

export interface LiveTail extends Required<Pick<EventListeners, 'request' | 'nodeCall'>> {
  /**
   * Sends the last requests at once, then batches. Returns the function that ends the subscription. If there are too
   * many, the oldest one ends: forgotten pages must not keep out the operator who opens a new one.
   */
  subscribe(filter: TailFilter, subscriber: TailSubscriber): () => void
  close(): void
}

interface Subscription {
  readonly matches: (request: TailRequest) => boolean
  readonly subscriber: TailSubscriber
  requests: TailRequest[]
  skipped: number
}

const MAX_SUBSCRIPTIONS = 20
/** Requests that a new subscriber receives at once. */
const BACKLOG = 200
/** Further requests of a batch are only counted. */
const MAX_BATCH = 100
const FLUSH_INTERVAL_MS = 250
/** Requests in progress whose nodes are remembered. */
const MAX_REQUESTS_IN_PROGRESS = 2000

/** `clock`: milliseconds since 1970. */
export function createLiveTail(clock: () => number = Date.now): LiveTail {
  const subscriptions = new Set<Subscription>()
  const backlog: TailRequest[] = []
  const nodesOf = new Map<string, string>()
  const timer = setInterval(() => {
    for (const subscription of subscriptions) flush(subscription)
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
      for (const subscription of subscriptions) offer(subscription, request)
    },
    subscribe(filter, subscriber) {
      const [oldest] = subscriptions
      if (subscriptions.size >= MAX_SUBSCRIPTIONS && oldest !== undefined) {
        subscriptions.delete(oldest)
        oldest.subscriber.onReplaced()
      }
      const matches = matcherOf(filter)
      const requests = backlog.filter(matches).slice(-BACKLOG)
      const subscription: Subscription = { matches, subscriber, requests, skipped: 0 }
      subscriptions.add(subscription)
      flush(subscription)
      return () => void subscriptions.delete(subscription)
    },
    close() {
      clearInterval(timer)
      subscriptions.clear()
    },
  }
}

function offer(subscription: Subscription, request: TailRequest): void {
  if (!subscription.matches(request)) return
  if (subscription.requests.length < MAX_BATCH) subscription.requests.push(request)
  else subscription.skipped += 1
}

function flush(subscription: Subscription): void {
  const { requests, skipped, subscriber } = subscription
  if (requests.length === 0 && skipped === 0) return
  // A slow subscriber loses the batch; the next batch reports the number of lost requests.
  const isSent = subscriber.send({ requests, skipped })
  subscription.skipped = isSent ? 0 : skipped + requests.length
  subscription.requests = []
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
