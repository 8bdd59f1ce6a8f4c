/** What tests of the stages share: Asks of the real catalogue, a clock that is set, nodes that answer when they are told. */

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

export const caller: Caller = { name: 'alice', permissions: ['agents:read', 'rules:read'] }

type Rest = Partial<Omit<EdgeRequest, 'endpoint'>> & { readonly endpoint?: Endpoint }

let count = 0

export function ask(id: string, rest: Rest = {}): EdgeRequest {
  count += 1
  return {
    endpoint: rest.endpoint ?? recordOf(id),
    params: {},
    query: {},
    caller,
    waitForComplete: false,
    requestId: `request-${count}`,
    signal: new AbortController().signal,
    ...rest,
  }
}

export function fields(values: Readonly<Record<string, unknown>>): { readonly body: NonNullable<EdgeRequest['body']> } {
  return { body: { kind: 'fields', fields: values } }
}

export function answer(value: unknown, status = 200): EdgeResponse {
  return { kind: 'json', status, body: Buffer.from(JSON.stringify(value)) }
}

export function good(data: unknown): EdgeResponse {
  return answer({ error: 0, data })
}

export function bodyOf(given: EdgeResponse): {
  readonly error?: number
  readonly data?: unknown
  readonly message?: string
} {
  if (given.kind !== 'json') throw new Error('a file came')
  return JSON.parse(given.body.toString())
}

/** How the cache dealt with it; undefined when the answer is not one that may be kept. */
export function statusOf(given: EdgeResponse) {
  return given.kind === 'json' ? given.cached?.status : undefined
}

/** A clock that stands still until it is moved. */
export class SetClock {
  now = 1000

  readonly read = (): number => this.now

  pass(milliseconds: number): void {
    this.now += milliseconds
  }
}

/** Nodes behind the stage: every call is written down, and answered by `says`. */
export class Nodes {
  readonly asked: EdgeRequest[] = []
  says: (ask: EdgeRequest, call: number) => EdgeResponse | Promise<EdgeResponse> = (_, call) => good(call)

  readonly handle: Handler = async (given) => {
    this.asked.push(given)
    return this.says(given, this.asked.length)
  }

  get calls(): number {
    return this.asked.length
  }
}

/** A promise that is resolved from outside. */
export function gate(): { readonly opened: Promise<void>; open(): void } {
  let open = () => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open: () => open() }
}

/** Lets everything go on that waits for nothing but its turn. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}

export const durations = { ttl: 1000, staleWhileRevalidate: 1000, staleIfError: 60_000 }

const nodeList = [{ name: 'm' }]

/** One replica: the two stages over a store of its own, or over the one that is given. */
export function replica(options: Partial<CacheOptions> = {}) {
  const clock = new SetClock()
  const nodes = new Nodes()
  const store = options.store ?? createMemoryStore({ bytes: 1 << 20, elapsed: clock.read })
  const cache = createCache({
    store,
    key: { secret: 'secret', policy: '1' },
    lifetimesOf: () => durations,
    master: () => 'm',
    nodes: () => nodeList,
    timeout: 20_000,
    slowTimeout: 120_000,
    hasIdleCapacity: () => true,
    clock: clock.read,
    ...options,
  })
  return { clock, nodes, cache, store, read: cache.readThrough(nodes.handle), write: cache.invalidate(nodes.handle) }
}
