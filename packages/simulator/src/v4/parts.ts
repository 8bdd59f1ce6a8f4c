/** What the API of one node is made of. */
import type { SeenRequest, SimNode } from '../model.ts'
import type { NodeCosts } from './costs.ts'
import type { Cluster } from './execution.ts'
import type { NodeLimits } from './limits.ts'
import type { Security } from './rbac/security.ts'
import { hasLaterFramework } from './releases.ts'
import type { FindCall } from './router.ts'
import type { Tasks } from './tasks.ts'

export interface V4Parts {
  readonly node: SimNode
  readonly cluster: Cluster
  readonly findCall: FindCall
  readonly security: Security
  readonly limits: NodeLimits
  readonly costs: NodeCosts
  readonly tasks: Tasks
  /** Whether `/experimental/…` is served. */
  readonly experimental: boolean
  /** Milliseconds for which the node's own cache holds a response; 0 for no cache. */
  readonly ownCacheMs: number
  see(request: SeenRequest): void
  /** Called for unexpected exceptions. */
  thrown(fault: unknown): void
}

export function versionOf({ node, cluster }: V4Parts): string {
  return node.version ?? cluster.world.version
}

export function isLaterAt(parts: V4Parts): boolean {
  return hasLaterFramework(versionOf(parts))
}
