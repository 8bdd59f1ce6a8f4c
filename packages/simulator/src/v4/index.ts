/** The second API in front of the simulated cluster: the v4 layout of the manager. */
import type { RequestListener } from 'node:http'
import type { Load } from '../capacity.ts'
import type { FaultTable } from '../faults.ts'
import type { SeenRequest, SimNode, World } from '../model.ts'
import { v4NodeApi } from './api.ts'
import { callsOf } from './calls/index.ts'
import { createCosts, type NodeCosts } from './costs.ts'
import type { Cluster } from './execution.ts'
import { NodeLimits } from './limits.ts'
import type { V4User } from './rbac/access.ts'
import { Security } from './rbac/security.ts'
import { hasLaterFramework } from './releases.ts'
import { createRouter, type FindCall } from './router.ts'
import { Tasks, type UpgradeBehavior } from './tasks.ts'

export type { V4User } from './rbac/access.ts'

export interface V4Options {
  /** Accounts beside the one of the simulator, which is an administrator. */
  readonly users?: Readonly<Record<string, V4User>>
  /** Seconds for which a token is good; default 900. */
  readonly tokenLifetime?: number
  /** Milliseconds for which each of the two processes of a node remembers an accepted token; default 0. Real nodes: 900,000. */
  readonly tokenCacheMs?: number
  /** Requests that each node takes in a minute, release 5.0 of each address; default 0: no limit. Real nodes: 300. */
  readonly requestsPerMinute?: number
  /**
   * Requests of an address in a minute that release 5.0 takes without valid credentials or for unknown paths; default 0: no
   * limit. Real nodes: 10.
   */
  readonly unauthenticatedPerMinute?: number
  /** Failed logins after which a node blocks an address; default 50, as of real nodes. */
  readonly maxFailedLogins?: number
  /** Milliseconds for which a node's own cache holds five calls about rules; default 750. */
  readonly ownCacheMs?: number
  /** Milliseconds after which a call ends in 3021 while the executing process of its node hangs; default 10,000. */
  readonly executionLimit?: number
  readonly upgrades?: UpgradeBehavior
}

/** What tests change at run time, beside the faults. */
export interface V4Controls {
  /** Voids all tokens at once, or those of a user or a node. */
  revokeTokens(which?: { readonly user?: string; readonly node?: string }): void
  /** Ends the lifetime of all tokens now. */
  expireTokens(): void
  /** Makes a node refuse requests of an address for 300 s, release 5.0 its logins; default: the loopback address. */
  blockAddress(node: string, address?: string): void
  /** Restarts the API process of a node: a hanging one answers again, and its limits are forgotten. */
  restartApi(node: string): void
  /** Returns how many requests a node has refused because they were over its limits (429). */
  refusedRequests(node: string): number
  /** Returns how many requests a node got for paths and methods that it does not have. */
  unknownRequests(node: string): number
  /** Changes how upgrades go on from now on. */
  setUpgrades(behavior: UpgradeBehavior): void
}

export interface V4Layout {
  /** Returns the request listener of a node. */
  apiOf(node: SimNode): RequestListener
  load(node: string): Load
  readonly controls: V4Controls
}

export interface V4Site {
  readonly world: World
  readonly faults: FaultTable
  /** The account of an administrator. */
  readonly username: string
  readonly password: string
  /** Serve `/experimental/…`. */
  readonly experimental: boolean
  /** The factor by which nodes are faster than real ones; absent: no cost. */
  readonly scale?: number
  see(request: SeenRequest): void
  thrown(fault: unknown): void
}

const EXECUTION_LIMIT_MS = 10_000
const OWN_CACHE_MS = 750
const MAX_FAILED_LOGINS = 50
const TOKEN_LIFETIME_S = 900
/** The second administrator of every installation. */
const INTERFACE_USER = 'wazuh-wui'

export function createV4Layout(site: V4Site, options: V4Options = {}): V4Layout {
  const { world, faults, username, password } = site
  const { requestsPerMinute = 0, unauthenticatedPerMinute = 0, maxFailedLogins = MAX_FAILED_LOGINS } = options
  const { ownCacheMs = OWN_CACHE_MS, executionLimit = EXECUTION_LIMIT_MS } = options
  const now = () => world.now()
  const administrator: V4User = { password, roles: ['administrator'], runAs: true }
  const security = new Security({
    users: { [username]: administrator, [INTERFACE_USER]: administrator, ...options.users },
    tokenLifetime: options.tokenLifetime ?? TOKEN_LIFETIME_S,
    tokenCacheMs: options.tokenCacheMs ?? 0,
    release: world.version,
    now,
  })
  const costs = new Map<string, NodeCosts>()
  const costsOf = (name: string) => known(costs, name, () => createCosts(site.scale))
  const limits = new Map<string, NodeLimits>()
  const releaseOf = (name: string) => world.nodes.find((node) => node.name === name)?.version ?? world.version
  const limitsOf = (name: string) =>
    known(limits, name, () => {
      const release = () => releaseOf(name)
      return new NodeLimits({ perMinute: requestsPerMinute, unauthenticatedPerMinute, maxFailedLogins, release, now })
    })
  const cluster: Cluster = { world, faults, costsOf, hung: new Set(), executionLimit }
  const tasks = new Tasks(options.upgrades ?? {})
  const routers = new Map<string, FindCall>()
  const routerOf = (version: string) =>
    known(routers, version, () => createRouter(callsOf(version), hasLaterFramework(version)))
  // Throws for a call that no facts describe. Later, a node would only answer 500.
  routerOf(world.version)
  return {
    apiOf: (node) =>
      v4NodeApi({
        node,
        cluster,
        findCall: (method, path) => routerOf(node.version ?? world.version)(method, path),
        security,
        limits: limitsOf(node.name),
        costs: costsOf(node.name),
        tasks,
        ownCacheMs,
        experimental: site.experimental,
        see: site.see,
        thrown: site.thrown,
      }),
    load: (name) => costsOf(name).load,
    controls: {
      revokeTokens: (which) => security.revoke(which),
      expireTokens: () => security.expire(),
      blockAddress: (node, address = '127.0.0.1') => limitsOf(node).block(address),
      restartApi: (node) => {
        cluster.hung.delete(node)
        limitsOf(node).reset()
      },
      refusedRequests: (node) => limitsOf(node).refused,
      unknownRequests: (node) => limitsOf(node).unknown,
      setUpgrades: (behavior) => {
        tasks.behavior = behavior
      },
    },
  }
}

function known<T>(map: Map<string, T>, name: string, create: () => T): T {
  const found = map.get(name) ?? create()
  map.set(name, found)
  return found
}
