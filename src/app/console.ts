/** What the operators' console is told of the edge. */
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { createReplicas, type Replicas } from '../admin/console/replicas.ts'
import type { ConsolePorts, NodeState } from '../admin/console-ports.ts'
import { explain } from '../cache/explain.ts'
import { catalogue } from '../catalogue/index.ts'
import type { Config } from '../config/index.ts'
import { redisPlace } from '../config/redis-place.ts'
import { madeOf } from '../http/encodings.ts'
import { createReplicaLines } from '../redis/replica-lines.ts'
import type { Cluster, NodeStatus } from '../upstream/index.ts'
import type { OperationsParts } from './operations.ts'
import { version } from './package.ts'
import { purger } from './purge.ts'

type ConsoleParts = Pick<OperationsParts, 'watch' | 'cluster' | 'front' | 'news' | 'ready' | 'url' | 'divergence'>

/** Undefined: this replica shares nothing. */
export async function buildReplicas(config: Config, parts: ConsoleParts): Promise<Replicas | undefined> {
  const place = await redisPlace(config.cache.redis)
  if (place === undefined) return undefined
  const lines = createReplicaLines(place, config.cache.redis.timeout)
  const { cluster, watch, ready } = parts
  const self = {
    name: hostname(),
    version,
    ready: () => ready().ok,
    rates: watch.traffic.rates,
    nodes: () => nodesOf(cluster),
    joined: watch.joins.last,
  }
  // Several replicas may run on one host.
  const name = `${hostname()} ${randomUUID()}`
  const replicas = createReplicas(self, (text) => lines.tell(name, text))
  const stop = (): void => {
    replicas.stop()
    lines.close()
  }
  return { ...replicas, stop }
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
    cache: () => ({ enabled: kept.enabled, shared: kept.sharedThroughRedis, ...news.standing() }),
    nodes: () => nodesOf(cluster),
    permissionOf: (endpoint) => permissions.get(endpoint) ?? 'unknown',
    explain: async (asked, caller) => {
      if (explained === undefined) return { kept: false, why: 'the cache is off' }
      return explain(explained, await explained.askOf(asked, caller))
    },
    read: async ({ key, url: asked }, caller) => {
      if (explained === undefined) return { kind: 'gone' }
      const prepared = explained.prepare(await explained.askOf(asked, caller))
      // The key says for whose rights it was made: another key, another answer.
      if (typeof prepared === 'string' || prepared.key !== key) return { kind: 'others' }
      const look = await explained.index.peek(key, prepared.tags)
      if (look.kind !== 'hit') return { kind: 'gone' }
      const { body: bytes, etag, age, ttl: keepFor } = look.response
      const { fenced } = look.epochs
      return {
        kind: 'kept',
        etag,
        bytes,
        fenced,
        near: look.isLocal,
        freshFor: keepFor - age,
        encodings: madeOf(bytes),
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
