/** A request that a snapshot may answer, with the place of the snapshot in the cache. */
import type { CacheGroup } from '../../contracts/endpoint.ts'
import type { EdgeRead } from '../../core/request.ts'
import type { ResolveTarget } from '../key.ts'
import { derivationOf, type NodeReads } from './derivation.ts'

interface DerivablePorts {
  /** `groups`: the cache groups whose collections have snapshots. */
  readonly snapshots: () => { readonly groups: readonly CacheGroup[] }
  readonly resolveTarget: ResolveTarget
  readonly nodeReads: () => NodeReads
}

/** One request that a snapshot may answer. */
export type Derivable = NonNullable<ReturnType<typeof computableOf>>

/** Returns the snapshot that can answer a request, and its place in the cache; `undefined`: there is none. */
export function derivableOf(ports: DerivablePorts, request: EdgeRead) {
  if (ports.snapshots().groups.length === 0) return undefined
  const derivable = computableOf(ports, request)
  return derivable?.hasSnapshots ? derivable : undefined
}

/** As `derivableOf`, also for a collection that has no snapshots. */
export function computableOf({ snapshots, resolveTarget, nodeReads }: DerivablePorts, request: EdgeRead) {
  const derivation = derivationOf(request, new Date(), nodeReads())
  if (derivation === undefined) return undefined
  const own = resolveTarget(request)
  const snapshot: EdgeRead = { ...request, query: {}, extent: 'allRows' }
  const target = resolveTarget(snapshot)
  if (typeof own === 'string' || typeof target === 'string') return undefined
  const { snapshot: kind, group } = target.policy
  const hasSnapshots = kind !== undefined && snapshots().groups.includes(group)
  // Requests that differ only in spelling have the same key of their own.
  return { request, key: own.key, derivation, snapshot, target, hasSnapshots }
}
