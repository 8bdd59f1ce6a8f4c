/** Builds the cache from the configuration: its store, its stages and the endpoints of `/cache`. */
import { hash } from 'node:crypto'
import { type CacheStages, createCache } from '../cache/index.ts'
import type { KeySettings } from '../cache/key.ts'
import { type LifetimesOf, ttlOf } from '../cache/lifetimes.ts'
import { type CacheOperationsPorts, disabledCache } from '../cache/operations.ts'
import { policyByName, purgeAfterLayoutChange } from '../cache/purge.ts'
import type { AcquireWriteLock } from '../cache/stores/contract.ts'
import { createMemoryStore, type MemoryStore } from '../cache/stores/memory-store.ts'
import { createRedisStore, type RedisStore } from '../cache/stores/redis-store.ts'
import type { ReloadableConfig } from '../config/reloadable.ts'
import { cacheGroups } from '../config/schema.ts'
import type { CacheStoreState } from '../core/cache.ts'
import type { ResolveUrl } from '../http/resolve-url.ts'
import { rulesOfSetting } from '../layouts/layout-rules.ts'
import type { Cluster } from '../upstream/index.ts'
import type { KindOf } from '../upstream/kinds.ts'
import { createNodeQuestions } from '../upstream/node-states.ts'
import type { Base } from './base.ts'
import { servedRecords } from './contracts.ts'
import { toLog } from './log.ts'
import { type ManagerUsers, rememberManagerUsers } from './manager-users.ts'

/** `acquireWriteLock`: shared by all replicas if there is Redis. */
export interface BuiltCache extends Partial<ManagerUsers> {
  /** Absent: there is no cache, and no other replica to invalidate responses of. */
  readonly stages?: Partial<Pick<CacheStages, 'readThrough' | 'invalidate'>>
  /** What the endpoints of `/cache` and the console use. */
  readonly ports: CacheOperationsPorts
  readonly acquireWriteLock?: AcquireWriteLock
  /** Absent: there is no store. */
  readonly state?: () => CacheStoreState
  close(): Promise<void>
}

interface CacheParts {
  readonly cluster: Cluster
  readonly kindOf: KindOf
  readonly resolveUrl: ResolveUrl
}

/** Keys are HMACs. Without an encryption key the secret is public, because the keys stay in this process or in Redis. */
const DEFAULT_KEY_SECRET = 'manager-edge'

/** Rejects if a setting names an unknown endpoint. */
export async function buildCache(
  base: StoreBase & Pick<Base, 'log' | 'events' | 'endedTokens'>,
  { cluster, kindOf, resolveUrl }: CacheParts,
): Promise<BuiltCache> {
  const { settings, shared, events, log } = base
  const { initial, derive } = settings
  const { enabled, trial } = initial.cache
  derive((config) => checkEndpoints(Object.keys(config.cache.endpoints)))
  if (!enabled && shared === undefined) return { ports: disabledCache, close: async () => {} }
  const store = createStore(base)
  events.on({ layoutChange: (change) => purgeAfterLayoutChange(change, store, toLog(log)) })
  const key = createKeySettings(base)
  const lifetimesOf = readLifetimes(settings)
  const onEvent = events.emit.cache
  const hasOutageMode = () => Object.values(settings.current().cache.outage).some((ms) => ms > 0)
  const stages = createCache({
    store,
    key,
    lifetimesOf,
    settings: derive((config) => config.cache),
    nodes: cluster.view.nodes,
    limits: derive((config) => config.cluster.limits),
    nodeReads: () => kindOf(cluster.view).reads,
    ...createNodeQuestions(cluster.view, kindOf),
    outageFor: () => (hasOutageMode() ? cluster.outageFor() : undefined),
    isOnlyReplica: () => settings.current().replica.only,
    onEvent,
    trial,
  })
  const { scopeOf, snapshots, explained } = stages
  const { state } = store
  const close = () => store.close()
  if (!enabled) {
    // This replica stores nothing, but its writes must invalidate the stored responses of the other replicas.
    const ports = { ...disabledCache, index: store, scopeOf, sharedThroughRedis: true, onEvent }
    return { stages: { invalidate: stages.invalidate }, ports, state, close }
  }
  const isNode = (name: string) => cluster.view.find(name) !== undefined
  const ports: CacheOperationsPorts = {
    index: store,
    scopeOf,
    defaultDuration: derive((config) => config.cache.defaultTtl),
    lifetimesOf,
    enabled,
    sharedThroughRedis: shared !== undefined,
    onEvent,
    snapshots,
    explained: {
      ...explained,
      catalogue: servedRecords(initial),
      isNode,
      resolveUrl: async (url, caller) => resolveUrl(url, caller),
    },
  }
  const managerUsers = rememberManagerUsers(base, cluster, { store, key, waiting: stages.waiting, hasOutageMode })
  const locks = 'acquireWriteLock' in store ? { acquireWriteLock: store.acquireWriteLock } : {}
  return { stages, ports, ...locks, ...managerUsers, state, close }
}

function createKeySettings({
  settings: { derive },
  encryptionKey,
}: Pick<Base, 'settings' | 'encryptionKey'>): () => KeySettings {
  return derive(({ access, cluster: { credentials, layout } }) => ({
    secret: encryptionKey ?? DEFAULT_KEY_SECRET,
    policy: hash('sha256', JSON.stringify(access.customRoles), 'hex'),
    perUser: credentials.mode === 'passthrough' && rulesOfSetting(layout).hasRights,
  }))
}

type StoreBase = Pick<Base, 'settings' | 'shared' | 'encryptionKey' | 'onStoreEvent'>

function createStore({
  settings: { initial, derive },
  shared,
  encryptionKey,
  onStoreEvent,
}: StoreBase): MemoryStore | RedisStore {
  const localBytes = derive((config) => config.cache.localBytes)
  if (shared === undefined) return createMemoryStore({ bytes: localBytes })
  return createRedisStore({
    replica: shared.replica,
    groups: cacheGroups,
    localBytes: initial.cache.enabled ? localBytes : () => 0,
    ...(encryptionKey && { encryptionKey }),
    writesWithoutRedis: derive((config) => config.cache.writesWithoutRedis),
    onEvent: onStoreEvent,
  })
}

function readLifetimes({ derive }: ReloadableConfig): LifetimesOf {
  const settings = derive((config) => config.cache)
  return (group, name) => {
    const cache = settings()
    const { staleWhileRevalidate, staleIfError, outage, withoutRedis } = cache
    return {
      ttl: ttlOf(cache, group, name),
      staleWhileRevalidate: staleWhileRevalidate[group] ?? 'automatic',
      staleIfError,
      outage: outage[group] ?? 0,
      ...(withoutRedis === 'stale' && { withoutRedis: staleIfError }),
    }
  }
}

/** Checked here, because `config/` does not have the catalogue. */
function checkEndpoints(names: readonly string[]): void {
  const unknown = names.find((name) => !policyByName.has(name))
  if (unknown === undefined) return
  const remedy = '"manager-edge routes" lists all endpoints'
  throw new Error(`cache.endpoints: ${unknown} is not a GET endpoint whose responses are stored; ${remedy}`)
}
