/** Shared by tests of stages: requests for records of the catalogue, a manual clock, and fake nodes. */

import { type CacheOptions, createCache } from '../../src/cache/index.ts'
import { createMemoryStore } from '../../src/cache/stores/memory-store.ts'
import type { Endpoint } from '../../src/catalogue/endpoint.ts'
import { catalogue } from '../../src/catalogue/index.ts'
import type { Caller, EdgeRequest, Handler } from '../../src/core/request.ts'
import type { EdgeResponse } from '../../src/core/response.ts'

export function recordOf(id: string): Endpoint {
  const record = catalogue.find(({ method, path }) => `${method} ${path}` === id)
  if (record === undefined) throw new Error(`no record ${id}`)
  return record
}

export const caller: Caller = { name: 'alice', permissions: ['agents:read', 'cache:read', 'rules:read'] }

type Rest = Partial<Omit<EdgeRequest, 'endpoint'>> & { readonly endpoint?: Endpoint }

let count = 0

export function edgeRequest(id: string, rest: Rest = {}): EdgeRequest {
  count += 1
  return {
    endpoint: rest.endpoint ?? recordOf(id),
    params: {},
    query: {},
    caller,
    waitForComplete: false,
    requestId: `request-${count}`,
    client: new AbortController(),
    ...rest,
  }
}

export function fields(values: Readonly<Record<string, unknown>>): { readonly body: NonNullable<EdgeRequest['body']> } {
  return { body: { kind: 'fields', fields: values } }
}

export function jsonResponse(value: unknown, status = 200): EdgeResponse {
  return { kind: 'json', status, body: Buffer.from(JSON.stringify(value)) }
}

export function success(data: unknown): EdgeResponse {
  return jsonResponse({ error: 0, data })
}

export function bodyOf(response: EdgeResponse): {
  readonly error?: number
  readonly data?: unknown
  readonly message?: string
} {
  if (response.kind !== 'json') throw new Error('the response is a file')
  return JSON.parse(response.body.toString())
}

/** Returns the cache status of a response; `undefined` if it may not be stored. */
export function cacheStatusOf(response: EdgeResponse) {
  return response.kind === 'json' ? response.cached?.status : undefined
}

/** A clock that only moves when a test advances it. */
export class ManualClock {
  now = 1000

  readonly read = (): number => this.now

  advance(milliseconds: number): void {
    this.now += milliseconds
  }
}

/** The nodes behind the stages: they record every request and return what `respond` returns. */
export class FakeNodes {
  readonly requests: EdgeRequest[] = []
  respond: (request: EdgeRequest, call: number) => EdgeResponse | Promise<EdgeResponse> = (_, call) => success(call)

  readonly handler: Handler = async (request) => {
    this.requests.push(request)
    return this.respond(request, this.requests.length)
  }

  get calls(): number {
    return this.requests.length
  }
}

/** A promise that is resolved from outside. */
export function createLatch(): { readonly opened: Promise<void>; open(): void } {
  let open = () => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open: () => open() }
}

/** Waits until all pending microtasks and immediates have run. */
export async function settle(): Promise<void> {
  for (let round = 0; round < 5; round += 1) await new Promise((resolve) => setImmediate(resolve))
}

export const lifetimes = { ttl: 1000, staleWhileRevalidate: 1000, staleIfError: 60_000 }

const nodeList = [{ name: 'm' }]
const key = { secret: 'secret', policy: '1' }

/** One replica: the two stages with their own memory store, or with the given store. */
export function replica(options: Partial<CacheOptions> = {}) {
  const clock = new ManualClock()
  const nodes = new FakeNodes()
  const store = options.store ?? createMemoryStore({ bytes: () => 1 << 20, elapsed: clock.read })
  const cache = createCache({
    store,
    key: () => key,
    lifetimesOf: () => lifetimes,
    master: () => 'm',
    nodes: () => nodeList,
    limits: () => ({ timeout: 20_000, slowTimeout: 120_000 }),
    hasIdleCapacity: () => true,
    clock: clock.read,
    ...options,
  })
  return { clock, nodes, cache, store, read: cache.readThrough(nodes.handler), write: cache.invalidate(nodes.handler) }
}
