/** Builds the cache from the configuration: its store, its stages and the endpoints of `/cache`. */
import { hash } from 'node:crypto'
import { AcceptedTokens } from '../cache/accepted-tokens.ts'
import { CallerRights } from '../cache/caller-rights.ts'
import { type CacheStages, createCache } from '../cache/index.ts'
import type { KeySettings } from '../cache/key.ts'
import { type CacheOperationsPorts, disabledCache } from '../cache/operations.ts'
import { type LifetimesOf, ttlOf } from '../cache/policy.ts'
import { policyByName } from '../cache/purge.ts'
import { createRecheckPace, type RecheckPace } from '../cache/recheck-pace.ts'
import type { AcquireWriteLock } from '../cache/stores/contract.ts'
import { createMemoryStore, type MemoryStore } from '../cache/stores/memory-store.ts'
import { createRedisStore, type RedisStore } from '../cache/stores/redis-store.ts'
import type { ReloadableConfig } from '../config/reloadable.ts'
import type { Config } from '../config/schema.ts'
import type { CacheStoreState } from '../core/cache.ts'
import type { Caller, EdgeRead } from '../core/request.ts'
import { layoutRules, rulesOfSetting } from '../layouts/dialect.ts'
import type { Cluster } from '../upstream/index.ts'
import type { KindOf } from '../upstream/kinds.ts'
import { createNodeQuestions } from '../upstream/node-states.ts'
import { readPolicies } from '../upstream/probes.ts'
import type { Base } from './base.ts'
import { servedRecords } from './fronts.ts'

/** `acquireWriteLock`: shared by all replicas if there is Redis. */
interface BuiltCache {
  /** Absent: there is no cache, and no other replica to invalidate responses of. */
  readonly stages?: Partial<Pick<CacheStages, 'readThrough' | 'invalidate'>>
  /** What the endpoints of `/cache` and the console use. */
  readonly ports: CacheOperationsPorts
  readonly acquireWriteLock?: AcquireWriteLock
  /** Absent: nothing is stored. */
  readonly acceptedTokens?: AcceptedTokens
  readonly callerRights?: CallerRights
  readonly recheckPace?: RecheckPace
  /** Absent: there is no store. */
  readonly state?: () => CacheStoreState
  close(): Promise<void>
}

/** Keys are HMACs. Without an encryption key the secret is public, because the keys stay in this process or in Redis. */
const DEFAULT_KEY_SECRET = 'manager-edge'

/** Rejects if a setting names an unknown endpoint or a file cannot be read. */
export async function buildCache(
  parts: Base & { readonly cluster: Cluster },
  kindOf: KindOf,
  resolveUrl: (url: string, caller: Caller) => Promise<EdgeRead>,
): Promise<BuiltCache> {
  const { settings, cluster, replica, encryptionKey, emit, endedTokens } = parts
  const { initial, derive } = settings
  const { enabled, trial } = initial.cache
  derive((config) => checkEndpoints(Object.keys(config.cache.endpoints)))
  if (!enabled && replica === undefined) return { ports: disabledCache, close: async () => {} }
  const store = createStore(parts)
  const key = derive(
    ({ access, cluster: { credentials, layout } }): KeySettings => ({
      secret: encryptionKey ?? DEFAULT_KEY_SECRET,
      policy: hash('sha256', JSON.stringify(access.customRoles), 'hex'),
      perUser: credentials.mode === 'passthrough' && rulesOfSetting(layout).hasRights,
    }),
  )
  const lifetimesOf = readLifetimes(settings)
  const stages = createCache({
    store,
    key,
    lifetimesOf,
    settings: derive((config) => config.cache),
    nodes: cluster.view.nodes,
    limits: derive((config) => config.cluster.limits),
    nodeReads: () => kindOf(cluster.view).reads,
    ...createNodeQuestions(cluster.view, kindOf),
    outageFor: () => (hasOutageMode(settings.current()) ? cluster.outageFor() : undefined),
    isOnlyReplica: () => settings.current().replica.only,
    onEvent: emit.cache,
    trial,
  })
  const close = () => store.close()
  if (!enabled) {
    // This replica stores nothing, but its writes must invalidate the stored responses of the other replicas.
    const { invalidate, scopesOf } = stages
    const ports = { ...disabledCache, index: store, scopesOf, sharedThroughRedis: true, onEvent: emit.cache }
    return { stages: { invalidate }, ports, state: store.state, close }
  }
  const ports: CacheOperationsPorts = {
    index: store,
    scopesOf: stages.scopesOf,
    defaultDuration: derive((config) => config.cache.defaultTtl),
    lifetimesOf,
    enabled: true,
    sharedThroughRedis: replica !== undefined,
    onEvent: emit.cache,
    snapshots: stages.snapshots,
    explained: {
      ...stages.explained,
      catalogue: servedRecords(initial),
      isNode: (name) => cluster.view.find(name) !== undefined,
      resolveUrl,
    },
  }
  const recheckPace = createRecheckPace({
    recheck: () => initial.access.tokens.recheck,
    recheckMax: () => initial.access.tokens.recheckMax,
    perMinute: derive((config) => config.cluster.limits.perMinute ?? layoutRules.v4.perMinute),
    isBusy: () => (cluster.view.waitForNextRead?.(cluster.view.master().name, stages.waiting.others) ?? 0) > 0,
    replicas: () => replica?.heartbeat.replicas ?? 1,
  })
  const acceptedTokens = new AcceptedTokens({
    store,
    secret: () => key().secret,
    pace: recheckPace,
    hasEnded: endedTokens.hasEnded,
    hasOutageMode: () => hasOutageMode(settings.current()),
  })
  const callerRights = new CallerRights({
    store,
    ask: async ({ name, credentials, nodeToken }) => {
      const node = nodeToken?.node ?? cluster.view.master().name
      if (cluster.view.layoutOf(node) !== 'v4') return undefined
      const own = { ...(credentials && { credentials }), ...(nodeToken && { token: nodeToken }) }
      return readPolicies(cluster.call, { node, timeout: initial.cluster.limits.timeout, caller: name, ...own })
    },
    lifetime: initial.access.tokens.recheck,
    node: () => cluster.view.master().name,
  })
  const { acquireWriteLock, state } = store
  return { stages, ports, acquireWriteLock, acceptedTokens, callerRights, recheckPace, state, close }
}

function createStore({
  settings: { initial, derive },
  replica,
  encryptionKey,
  onStoreEvent,
}: Base): MemoryStore | RedisStore {
  const localBytes = derive((config) => config.cache.localBytes)
  if (replica === undefined) return createMemoryStore({ bytes: localBytes })
  return createRedisStore({
    replica,
    localBytes: initial.cache.enabled ? localBytes : () => 0,
    ...(encryptionKey && { encryptionKey }),
    writesWithoutRedis: derive((config) => config.cache.writesWithoutRedis),
    onEvent: onStoreEvent,
  })
}

function hasOutageMode({ cache }: Config): boolean {
  return Object.values(cache.outage).some((ms) => ms > 0)
}

function readLifetimes({ current }: ReloadableConfig): LifetimesOf {
  return (group, name) => {
    const { cache } = current()
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
