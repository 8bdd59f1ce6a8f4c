/** What is kept, where, and for how long, as the settings say. */
import { hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { type CacheStages, createCache, type FreshnessLifetimes } from '../cache/index.ts'
import { type CacheOperationsPorts, disabledCache } from '../cache/operations.ts'
import { compilePolicy } from '../cache/policy.ts'
import type { CacheStore } from '../cache/stores/contract.ts'
import { createMemoryStore } from '../cache/stores/memory-store.ts'
import { createRedisStore } from '../cache/stores/redis-store.ts'
import { catalogue } from '../catalogue/index.ts'
import type { Config } from '../config/index.ts'
import type { EventListeners } from '../core/events.ts'
import type { Caller, EdgeRequest } from '../core/request.ts'
import type { CacheIndex, CacheStoreState } from '../core/response.ts'
import type { OnStoreEvent } from '../redis/options.ts'
import type { RedisReplica } from '../redis/replica.ts'
import type { Cluster } from '../upstream/index.ts'
import { createIdleCapacityCheck, type Router } from '../upstream/route.ts'

export interface BuiltCache {
  /** Reads are kept, writes told to the other replicas; absent: there is nothing, or nobody to tell. */
  readonly stages?: Partial<Pick<CacheStages, 'readThrough' | 'invalidate'>>
  readonly kept: CacheOperationsPorts
  /** Of the store; shared by all replicas where Redis is. */
  readonly claim?: CacheStore['acquireFetchLock']
  /** Absent: nothing is kept. */
  readonly state?: () => CacheStoreState
  close(): Promise<void>
}

interface CacheParts {
  readonly cluster: Cluster
  readonly route: Router
  /** Absent: nothing is shared. */
  readonly replica: RedisReplica | undefined
  resolveUrl(url: string, caller: Caller): Promise<EdgeRequest>
  readonly onStoreEvent: OnStoreEvent
  readonly emit: Required<EventListeners>
}

type Store = CacheStore & CacheIndex & { state(): CacheStoreState; close(): Promise<void> }

/** Rejects when a setting names what is not there, or a file cannot be read; Redis itself may be away. */
export async function buildCache(
  config: Config,
  { cluster, route, replica, resolveUrl, onStoreEvent, emit }: CacheParts,
): Promise<BuiltCache> {
  const { cache } = config
  checkEndpoints(Object.keys(cache.endpoints))
  if (!cache.enabled && replica === undefined) return { kept: disabledCache, close: async () => {} }
  const sealing = cache.encryptionKeyFile === undefined ? undefined : await readFile(cache.encryptionKeyFile)
  const store: Store = replica === undefined ? createMemoryStore({ bytes: cache.nearBytes }) : await shared(replica)
  const stages = createCache({
    store,
    key: { secret: sealing ?? 'manager-edge', policy: hash('sha256', JSON.stringify(config.access.ownRoles), 'hex') },
    lifetimesOf: durationsOf(config),
    master: () => cluster.view.master().name,
    nodes: () => cluster.view.nodes(),
    ...config.cluster.limits,
    hasIdleCapacity: createIdleCapacityCheck({ view: cluster.view, route }),
    replicationLag: cache.syncPeriods,
    onEvent: emit.cache,
    verify: cache.verify,
  })
  // Whoever keeps nothing still writes, and the others keep what it makes stale.
  if (!cache.enabled) {
    const kept = { ...disabledCache, index: store, sharedThroughRedis: true, onEvent: emit.cache }
    return { stages: { invalidate: stages.invalidate }, kept, state: store.state, close: () => store.close() }
  }
  const kept: CacheOperationsPorts = {
    index: store,
    defaultDuration: cache.defaultDuration,
    enabled: true,
    sharedThroughRedis: replica !== undefined,
    onEvent: emit.cache,
    explained: {
      resolveTarget: stages.resolveTarget,
      index: store,
      catalogue,
      isNode: (name) => cluster.view.find(name) !== undefined,
      resolveUrl,
    },
  }
  return { stages, kept, claim: store.acquireFetchLock, state: store.state, close: () => store.close() }

  function shared(replica: RedisReplica): Promise<Store> {
    return createRedisStore({
      replica,
      localBytes: cache.enabled ? cache.nearBytes : 0,
      ...(sealing && { encryptionKey: sealing }),
      onLostStore: cache.onLostStore,
      onEvent: onStoreEvent,
    })
  }
}

function durationsOf({
  cache,
}: Config): (group: keyof Config['cache']['durations'], endpoint: string) => FreshnessLifetimes {
  const { durations, endpoints, staleWhileRevalidate, staleIfError, defaultDuration } = cache
  return (group, endpoint) => ({
    ttl: endpoints[`/${endpoint.slice(1)}`] ?? durations[group] ?? defaultDuration,
    staleWhileRevalidate: staleWhileRevalidate[group] ?? 0,
    staleIfError,
  })
}

/** Only here both the settings and the catalogue are known. */
function checkEndpoints(named: readonly string[]): void {
  const kept = catalogue.filter((endpoint) => typeof compilePolicy(endpoint) !== 'string').map(({ path }) => path)
  const unknown = named.find((path) => !kept.includes(path))
  if (unknown === undefined) return
  throw new Error(`cache.endpoints: ${unknown} is no GET whose answers are kept; "manager-edge routes" lists them all`)
}
