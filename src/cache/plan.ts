/** What the cache makes of a record, worked out once for each: is it kept, what stands in its key, under which tags. */
import type { CacheGroup, CachePolicy, Endpoint, Param } from '../catalogue/endpoint.ts'
import { type FillTags, readTags } from './tags.ts'

export interface Plan {
  readonly group: CacheGroup
  readonly scope: 'everyone' | 'rights'
  /** Names in the one order that keys know. */
  readonly params: readonly (readonly [string, Param])[]
  readonly query: readonly (readonly [string, Param])[]
  readonly tagsOf: FillTags
  /** With this parameter the answer is a file, which passes through. */
  readonly rawWhen?: string
  /** Put together of what several nodes answer. */
  readonly joined: boolean
  /** Nodes other than the master answer it from what they copied of the master. */
  readonly copied: boolean
}

const plans = new WeakMap<Endpoint, Plan | string>()

/** The plan of a record, or in words why its answers are never kept. */
export function planOf(record: Endpoint): Plan | string {
  const known = plans.get(record)
  if (known !== undefined) return known
  const plan = makePlan(record)
  plans.set(record, plan)
  return plan
}

function makePlan(record: Endpoint): Plan | string {
  if (!('cache' in record)) return 'it is a write'
  const keep: CachePolicy = record.cache
  if ('never' in keep) return keep.never
  // Held at start too (catalogue/checks/staleness.ts); a secret must not depend on one check.
  if (record.secret !== 'none') return 'it may hold a secret'
  if (record.target.kind === 'edge') return 'the edge answers it itself'
  const raw: Endpoint['response']['raw'] = record.response.raw
  const params: Readonly<Record<string, Param>> = record.params
  return {
    group: keep.group,
    scope: keep.scope,
    params: Object.entries(params).sort(byName),
    query: Object.entries(record.query).sort(byName),
    tagsOf: readTags(keep),
    ...(raw !== undefined && { rawWhen: raw.when }),
    joined: record.target.kind === 'everyNode' || record.target.kind === 'severalNodes',
    copied: record.target.kind === 'anyNode',
  }
}

function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1
}
