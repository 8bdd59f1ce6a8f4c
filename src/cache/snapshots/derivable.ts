/** A request that a snapshot may answer, with the place of the snapshot in the cache. */

import type { CacheSettings } from '../../config/schema.ts'
import type { NodeReads } from '../../core/node-call.ts'
import type { EdgeRead } from '../../core/request.ts'
import type { ResolveTarget } from '../key.ts'
import { derivationOf, rowSourceOf } from './derivation.ts'

interface DerivablePorts {
  readonly settings: () => Pick<CacheSettings, 'snapshots'>
  readonly resolveTarget: ResolveTarget
  readonly nodeReads: () => NodeReads
}

/** One request that a snapshot may answer. */
export type Derivable = NonNullable<ReturnType<typeof computableOf>>

/** Returns the snapshot that can answer a request, and its place in the cache; `undefined`: there is none. */
export function derivableOf(ports: DerivablePorts, request: EdgeRead) {
  if (ports.settings().snapshots.groups.length === 0) return undefined
  const derivable = computableOf(ports, request)
  return derivable?.hasSnapshots ? derivable : undefined
}

/** As `derivableOf`, also for a collection that has no snapshots. */
export function computableOf({ settings, resolveTarget, nodeReads }: DerivablePorts, request: EdgeRead) {
  const [query, conditions] = conditionsOf(request, nodeReads())
  const derivation = derivationOf({ ...request, query }, new Date(), nodeReads())
  if (derivation === undefined) return undefined
  const own = resolveTarget(request)
  const snapshot: EdgeRead = { ...request, query: conditions, extent: 'allRows' }
  const target = resolveTarget(snapshot)
  if (typeof own === 'string' || typeof target === 'string') return undefined
  const { snapshot: kind, group } = target.policy
  const { groups } = settings().snapshots
  const hasSnapshots = kind !== undefined && Object.keys(conditions).length === 0 && groups.includes(group)
  // Requests that differ only in spelling have the same `own.key`.
  return { request, key: own.key, derivation, snapshot, target, hasSnapshots, conditions }
}

/**
 * Returns what the edge computes of a query, and what the nodes must have done: rows of which only pages are computed are
 * another collection for each way in which they are selected and sorted.
 */
function conditionsOf(request: EdgeRead, reads: NodeReads): readonly [EdgeRead['query'], EdgeRead['query']] {
  if (!rowSourceOf(request, reads)?.pagesOnly) return [request.query, {}]
  const { offset, limit, ...conditions } = request.query
  return [{ ...(offset !== undefined && { offset }), ...(limit !== undefined && { limit }) }, conditions]
}
