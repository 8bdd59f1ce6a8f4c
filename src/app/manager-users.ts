/** What the edge remembers of the manager's own users: their accepted tokens, and their rights. */
import { AcceptedTokens } from '../access/accepted-tokens.ts'
import { CallerRights } from '../access/caller-rights.ts'
import { createRecheckPace } from '../access/recheck-pace.ts'
import type { CacheStages } from '../cache/index.ts'
import type { KeySettings } from '../cache/key.ts'
import type { MemoryStore } from '../cache/stores/memory-store.ts'
import type { RedisStore } from '../cache/stores/redis-store.ts'
import { layoutRules } from '../layouts/layout-rules.ts'
import type { Cluster } from '../upstream/index.ts'
import { readPolicies } from '../upstream/probes.ts'
import type { Base } from './base.ts'
import { servesV4Contract } from './contracts.ts'

/** What is remembered of the manager's own users. Absent: users of the edge share an account, or nothing is stored. */
export interface ManagerUsers {
  readonly acceptedTokens: AcceptedTokens
  readonly callerRights: CallerRights
  /** Returns the milliseconds after which tokens are checked again. Undefined: no port accepts them. */
  readonly recheckInterval: (() => number) | undefined
}

interface CacheParts extends Pick<CacheStages, 'waiting'> {
  readonly store: MemoryStore | RedisStore
  readonly key: () => KeySettings
  readonly hasOutageMode: () => boolean
}

/** Returns nothing if the manager's own users do not log in. */
export function rememberManagerUsers(
  { settings, shared, endedTokens }: Pick<Base, 'settings' | 'shared' | 'endedTokens'>,
  { view, call }: Cluster,
  { store, key, waiting, hasOutageMode }: CacheParts,
): ManagerUsers | undefined {
  const { initial, derive } = settings
  if (initial.cluster.credentials.mode !== 'passthrough') return undefined
  const pace = createRecheckPace({
    recheck: () => initial.access.tokens.recheck,
    recheckMax: () => initial.access.tokens.recheckMax,
    perMinute: derive((config) => config.cluster.limits.perMinute ?? layoutRules.v4.perMinute),
    isBusy: () => view.waitForNextRead(view.master().name, waiting.others) > 0,
    replicas: () => shared?.replica.heartbeat.replicas ?? 1,
  })
  const acceptedTokens = new AcceptedTokens({
    store,
    secret: () => key().secret,
    pace,
    hasEnded: endedTokens.hasEnded,
    hasOutageMode,
  })
  const callerRights = new CallerRights({
    store,
    ask: async ({ name, credentials, nodeToken }) => {
      const node = nodeToken?.node ?? view.master().name
      if (view.layoutOf(node) !== 'v4') return undefined
      const own = { ...(credentials && { credentials }), ...(nodeToken && { token: nodeToken }) }
      return readPolicies(call, { node, timeout: initial.cluster.limits.timeout, caller: name, ...own })
    },
    lifetime: initial.access.tokens.recheck,
    node: () => view.master().name,
  })
  const recheckInterval = servesV4Contract(initial.listen) ? () => pace.interval() : undefined
  return { acceptedTokens, callerRights, recheckInterval }
}
