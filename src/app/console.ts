import { hostname } from 'node:os'
import type { PurgeCost, PurgeRequest } from '../admin/console/api-types.ts'
import type { ConsolePorts, NodeState } from '../admin/console/ports.ts'
import { createReplicas, type Replicas } from '../admin/console/replicas.ts'
import { explain, resolveIndexUrl } from '../cache/explain.ts'
import type { Endpoint } from '../catalogue/endpoint.ts'
import { catalogue } from '../catalogue/index.ts'
import { EdgeError } from '../core/errors.ts'
import type { EdgeRequest, Handler } from '../core/request.ts'
import { encodedSizes } from '../http/encodings.ts'
import type { Cluster, NodeStatus } from '../upstream/index.ts'
import type { OperationsParts } from './operations.ts'
import { version } from './package.ts'

/** What the operators' console is told of the edge. */

type ConsoleParts = Pick<
  OperationsParts,
  'replica' | 'watch' | 'cluster' | 'front' | 'news' | 'ready' | 'url' | 'divergence'
>

/** Returns undefined if nothing is shared. */
export function buildReplicas({
  replica,
  cluster,
  watch,
  ready,
}: Pick<ConsoleParts, 'replica' | 'cluster' | 'watch' | 'ready'>): Replicas | undefined {
  if (replica === undefined) return undefined
  const self = {
    name: hostname(),
    version,
    ready: () => ready().ok,
    rates: watch.traffic.rates,
    nodes: () => nodesOf(cluster),
    joined: watch.joins.last,
  }
  return createReplicas(self, (text) => replica.exchangeDescriptions(text))
}

export function consolePorts({ watch, cluster, front, news, ready, url, divergence }: ConsoleParts): ConsolePorts {
  const { kept, handle } = front
  const { explained } = kept
  const permissions = new Map<string, string>(
    catalogue.filter(({ method }) => method === 'GET').map(({ path, permission }) => [path, permission]),
  )
  return {
    name: hostname(),
    version,
    url,
    ready,
    traffic: watch.traffic,
    tail: watch.tail,
    joins: watch.joins,
    divergence,
    index: kept.index,
    purge: purger(handle),
    cache: () => {
      const { away, ...store } = news.standing()
      return { enabled: kept.enabled, shared: kept.sharedThroughRedis, unreachable: away, ...store }
    },
    nodes: () => nodesOf(cluster),
    permissionOf: (endpoint) => permissions.get(endpoint) ?? 'unknown',
    explain: async (asked, caller) => {
      if (explained === undefined) return { kept: false, why: 'the cache is off' }
      return explain(explained, asked, caller)
    },
    read: async ({ key, url: asked }, caller) => {
      if (explained === undefined) return { kind: 'missing' }
      const prepared = explained.resolveTarget(await resolveIndexUrl(explained, asked, caller))
      // The key says for whose rights it was made: another key, another answer.
      if (typeof prepared === 'string' || prepared.key !== key) return { kind: 'otherPermissions' }
      const look = await explained.index.peek(key, prepared.tags)
      if (look.kind !== 'hit') return { kind: 'missing' }
      const { body: bytes, etag, age, ttl: keepFor } = look.response
      const { fenced } = look.epochs
      return {
        kind: 'stored',
        etag,
        bytes,
        fenced,
        local: look.isLocal,
        freshFor: keepFor - age,
        encodings: encodedSizes(bytes),
      }
    },
  }
}

function nodesOf({ status, view }: Cluster): NodeState[] {
  const now = Date.now()
  return status().map((node) => {
    const { name, type, inFlight, limit, queue, ejectedUntil, lastFailure } = node
    const { version } = view.find(name) ?? {}
    return {
      name,
      type,
      state: stateOf(node, view),
      inFlight,
      limit,
      queue,
      ...(version !== undefined && { version }),
      ...(ejectedUntil !== undefined && { ejectedFor: Math.max(0, ejectedUntil - now) }),
      ...(lastFailure && {
        lastFailure: { fault: lastFailure.fault, detail: lastFailure.detail, ago: now - lastFailure.at },
      }),
    }
  })
}

/** Why no call goes to it, if none does. */
function stateOf({ name, addressed, listed, ejectedUntil }: NodeStatus, view: Cluster['view']): NodeState['state'] {
  if (!addressed) return 'no address'
  if (ejectedUntil !== undefined) return 'ejected'
  if (!view.isAvailable(name)) return 'full'
  return listed === false ? 'not listed' : 'up'
}

/** Purges from the console: the same operations of the catalogue that clients call, on the same road. */

export function purger(handle: Handler): ConsolePorts['purge'] {
  const all = operation('cacheClear')
  const group = operation('cacheClearGroup')
  return async (order, { caller, client, requestId }) => {
    const ask = (preview: boolean): EdgeRequest => ({
      endpoint: order.group === undefined ? all : group,
      params: order.group === undefined ? {} : { group: order.group },
      query: queryOf(order, preview),
      caller,
      clientAddress: client,
      waitForComplete: false,
      requestId,
      signal: new AbortController().signal,
    })
    // What it cost can be said only before it is gone.
    const cost = read(await handle(ask(true))) as PurgeCost
    if (!order.preview) read(await handle(ask(false)))
    return cost
  }
}

function queryOf({ key, soft }: PurgeRequest, preview: boolean): EdgeRequest['query'] {
  return { ...(key !== undefined && { key }), ...(soft && { soft: 'true' }), ...(preview && { preview: 'true' }) }
}

function operation(name: string): Endpoint {
  const found = catalogue.find(({ target }) => target.kind === 'edge' && target.operation === name)
  if (found === undefined) throw new Error(`the catalogue has no operation ${name}`)
  return found
}

function read(answer: Awaited<ReturnType<Handler>>): unknown {
  const { error, data } =
    answer.kind === 'json' ? (JSON.parse(answer.body.toString()) as { error: number; data: unknown }) : {}
  if (error !== 0) throw new EdgeError(949)
  return data
}
