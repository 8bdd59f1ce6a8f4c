/** Shared by tests of stages: requests for records of the catalogue, a manual clock, and fake nodes. */

import { type CacheOptions, createCache } from '../../src/cache/index.ts'
import { LateFetches } from '../../src/cache/late-fetches.ts'
import type { CachePorts } from '../../src/cache/read-context.ts'
import { createReplicationLag } from '../../src/cache/replication-lag.ts'
import { createMemoryStore } from '../../src/cache/stores/memory-store.ts'
import type { CacheSettings } from '../../src/config/schema.ts'
import type { Endpoint, ReadEndpoint, WriteEndpoint, WriteMethod } from '../../src/contracts/endpoint.ts'
import { catalogue } from '../../src/contracts/index.ts'
import { parseEnvelope } from '../../src/core/envelope.ts'
import type { NodeReads } from '../../src/core/node-call.ts'
import { cachedOf, NO_PARTS } from '../../src/core/origins.ts'
import {
  type Caller,
  type EdgeRead,
  type EdgeRequest,
  type EdgeWrite,
  type Handler,
  NO_BODY,
  NO_COST,
} from '../../src/core/request.ts'
import type { EdgeResponse, EnvelopeResponse, JoinedOrigin, NodeOrigin } from '../../src/core/response.ts'
import { OF_NODE } from '../../src/layouts/dialect.ts'
import { defaultConfig } from './default-config.ts'

export function recordOf(id: `GET ${string}`): ReadEndpoint
export function recordOf(id: `${WriteMethod} ${string}`): WriteEndpoint
export function recordOf(id: string): Endpoint
export function recordOf(id: string): Endpoint {
  const record = catalogue.find(({ method, path }) => `${method} ${path}` === id)
  if (record === undefined) throw new Error(`no record ${id}`)
  return record
}

export const caller: Caller = { name: 'alice', permissions: ['agents:read', 'cache:read', 'rules:read'] }

let count = 0

function common(endpoint: Endpoint) {
  count += 1
  return {
    params: {},
    query: {},
    extent: 'whole',
    caller,
    waitForComplete: false,
    returnMinimal: false,
    priority: endpoint.priority ?? (endpoint.method === 'GET' ? 'interactive' : 'write'),
    requestId: `request-${count}`,
    client: new AbortController(),
  } as const
}

export function edgeRead(endpoint: ReadEndpoint, rest: Partial<EdgeRead> = {}): EdgeRead {
  const ofClient = {
    reuse: 'allowed',
    effort: 'bounded',
    copies: 'unknown',
    deadline: Number.POSITIVE_INFINITY,
    cost: NO_COST,
    late: undefined,
  } as const
  return { kind: 'read', endpoint, ...common(endpoint), ...ofClient, ...rest }
}

export function edgeWrite(endpoint: WriteEndpoint, rest: Partial<EdgeWrite> = {}): EdgeWrite {
  return { kind: 'write', endpoint, ...common(endpoint), body: NO_BODY, clientAddress: '127.0.0.1', ...rest }
}

/** `id`: method and path of a record. */
export function edgeRequest(id: `GET ${string}`, rest?: Partial<EdgeRead>): EdgeRead
export function edgeRequest(id: `${WriteMethod} ${string}`, rest?: Partial<EdgeWrite>): EdgeWrite
export function edgeRequest(id: string, rest?: Partial<EdgeRead> | Partial<EdgeWrite>): EdgeRequest
export function edgeRequest(id: string, rest: Partial<EdgeRead> | Partial<EdgeWrite> = {}): EdgeRequest {
  const endpoint = recordOf(id)
  return endpoint.method === 'GET'
    ? edgeRead(endpoint, rest as Partial<EdgeRead>)
    : edgeWrite(endpoint, rest as Partial<EdgeWrite>)
}

export function fields(values: Readonly<Record<string, unknown>>): Pick<EdgeWrite, 'body'> {
  return { body: { kind: 'fields', fields: values } }
}

/** A response of a node. */
export function nodeResponse(body: Buffer, status = 200): EnvelopeResponse<NodeOrigin> {
  const response = { kind: 'envelope', status, body, errorNumber: 0, origin: OF_NODE } as const
  return { ...response, errorNumber: parseEnvelope(response).error }
}

export function jsonResponse(value: unknown, status = 200): EnvelopeResponse<NodeOrigin> {
  return nodeResponse(Buffer.from(JSON.stringify(value)), status)
}

/** A successful response that was joined, with its node report. */
export function joinedResponse(data: unknown, more: Partial<JoinedOrigin> = {}): EnvelopeResponse<JoinedOrigin> {
  return { ...success(data), origin: { ...NO_PARTS, kind: 'joined', isUnfinished: false, ...more } }
}

export function success(data: unknown): EnvelopeResponse<NodeOrigin> {
  return jsonResponse({ error: 0, data })
}

export function bodyOf(response: EdgeResponse): {
  readonly error?: number
  readonly data?: unknown
  readonly message?: string
} {
  if (response.kind === 'file') throw new Error('the response is a file')
  return JSON.parse(response.body.toString())
}

/** Returns the cache status of a response; `undefined` if it may not be stored. */
export function cacheStatusOf(response: EdgeResponse) {
  return response.kind === 'file' ? undefined : cachedOf(response)?.status
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

  /** Those of the requests that are reads. */
  get reads(): readonly EdgeRead[] {
    return this.requests.filter((request) => request.kind === 'read')
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

/** What the API of nodes of the v3 layout allows. */
export const V3_READS: NodeReads = { rowsPerCall: 1000, joinsAgents: false, convertsRows: false }

const nodeList = [{ name: 'm' }]
const key = { secret: 'secret', policy: '1' }

/** The defaults, but no response is computed from a snapshot, and no hit is verified. */
const cacheSettings: CacheSettings = {
  ...defaultConfig.cache,
  divergenceCheck: { sampleRatio: 0, maxPerSecond: 0 },
  snapshots: { ...defaultConfig.cache.snapshots, groups: [] },
}

export interface ReplicaOptions extends Partial<Omit<CacheOptions, 'settings'>> {
  /** Those that differ from `cacheSettings`. */
  readonly settings?: Partial<CacheSettings>
}

/**
 * One replica: the two stages with their own memory store, or with the given store. `ports`: what the parts of the cache
 * get. `targetOf`: where the response to a request is stored.
 */
export function replica({ settings, ...options }: ReplicaOptions = {}) {
  const clock = new ManualClock()
  const nodes = new FakeNodes()
  const ownStore = createMemoryStore({ bytes: () => 1 << 20, elapsed: clock.read })
  const all = {
    store: ownStore,
    key: () => key,
    lifetimesOf: () => lifetimes,
    nodes: () => nodeList,
    limits: () => ({ timeout: 20_000, slowTimeout: 120_000 }),
    settings: () => ({ ...cacheSettings, ...settings }),
    nodeReads: () => V3_READS,
    hasIdleCapacity: () => true,
    isSilent: () => false,
    isSaturated: () => false,
    firstNode: () => undefined,
    waitForRead: () => 0,
    isOnlyReplica: () => false,
    onEvent: () => {},
    clock: clock.read,
    ...options,
  } satisfies CacheOptions
  const cache = createCache(all)
  const { resolveTarget } = cache.explained
  const ports: CachePorts = {
    ...all,
    resolveTarget,
    replicationLag: createReplicationLag(all),
    lateFetches: new LateFetches(all.clock),
  }
  const targetOf = (request: EdgeRead) => {
    const target = resolveTarget(request)
    if (typeof target === 'string') throw new Error(target)
    return target
  }
  const stages = { read: cache.readThrough(nodes.handler), write: cache.invalidate(nodes.handler) }
  return { clock, nodes, cache, store: all.store, ownStore, ports, targetOf, ...stages }
}
