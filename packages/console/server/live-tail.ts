/** The live tail: sends each finished request to the subscribers whose filter it matches. */
import { type Static, Type } from 'typebox'
import { type RequestRecords, tailRequestOf } from './request-records.ts'
import type { TailBatch, TailRequest } from './request-types.ts'

const text = Type.Optional(Type.String({ maxLength: 200 }))

/** The query of the live tail. Empty values match all requests. */
export const tailFilter = Type.Object(
  {
    /** Such as `2xx` or `404`. */
    status: Type.Optional(Type.String({ pattern: '^(?:[1-5](?:xx|[0-9]{2}))?$' })),
    endpoint: text,
    user: text,
    node: text,
    cache: text,
    /** Milliseconds: only requests that took at least this long. */
    slower: Type.Optional(Type.Integer({ minimum: 0, maximum: 86_400_000 })),
    /** The beginning of a request id. */
    id: Type.Optional(Type.String({ pattern: '^[0-9A-Fa-f-]{0,36}$' })),
  },
  { additionalProperties: false },
)
export type TailFilter = Static<typeof tailFilter>

export interface TailSubscriber {
  /** Returns false if the subscriber is too slow to receive the batch. */
  send(batch: TailBatch): boolean
  /** Called if a newer subscriber takes the place. */
  onReplaced(): void
}

export interface LiveTail {
  /**
   * Sends the last matching requests at once, then batches. Returns the function that ends the subscription. If there are too
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

/** Observes `records` while there are subscribers. */
export function createLiveTail(records: Pick<RequestRecords, 'observe' | 'last'>): LiveTail {
  const subscriptions = new Set<Subscription>()
  const timer = setInterval(() => {
    for (const subscription of subscriptions) flush(subscription)
  }, FLUSH_INTERVAL_MS)
  timer.unref()
  return {
    subscribe(filter, subscriber) {
      const [oldest] = subscriptions
      if (subscriptions.size >= MAX_SUBSCRIPTIONS && oldest !== undefined) {
        subscriptions.delete(oldest)
        oldest.subscriber.onReplaced()
      }
      const matches = matcherOf(filter)
      const requests = records.last(matches, BACKLOG)
      const subscription: Subscription = { matches, subscriber, requests, skipped: 0 }
      subscriptions.add(subscription)
      records.observe((event, measured) => {
        const request = tailRequestOf(event, measured)
        for (const each of subscriptions) offer(each, request)
      })
      flush(subscription)
      return () => {
        subscriptions.delete(subscription)
        if (subscriptions.size === 0) records.observe(undefined)
      }
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

function matcherOf({
  status,
  endpoint,
  user,
  node,
  cache,
  slower = 0,
  id = '',
}: TailFilter): (request: TailRequest) => boolean {
  const includes = (text: string | undefined, part: string | undefined) =>
    part === undefined || part === '' || (text ?? '').toLowerCase().includes(part.toLowerCase())
  const statusPrefix = /^[^x]*/i.exec(status ?? '')?.[0] ?? ''
  return (request) =>
    String(request.status).startsWith(statusPrefix) &&
    request.ms >= slower &&
    request.id.startsWith(id.toLowerCase()) &&
    includes(`${request.method} ${request.path ?? request.route}`, endpoint) &&
    includes(request.user, user) &&
    includes(request.node, node) &&
    (cache === undefined || cache === '' || request.cache === cache)
}
