/** What an endpoint record means for the cache: may its responses be stored, and which values are part of the key. */
import type {
  CacheGroup,
  CachePolicy,
  Endpoint,
  Param,
  RowKind,
  StaleLimit,
  StoringPolicy,
  Tag,
} from '../contracts/endpoint.ts'
import { nameOf } from '../core/endpoint-names.ts'
import type { EdgeRead } from '../core/request.ts'
import { compileReadTags } from './tags.ts'

export interface CompiledPolicy {
  /** The name of the endpoint, which the settings of lifetimes and purges have. */
  readonly name: string
  readonly group: CacheGroup
  /** Whether responses are served after their freshness lifetime; `whileHot` as in the catalogue. */
  readonly stale: 'allowed' | StaleLimit
  /** Path and query parameters, sorted by name. */
  readonly params: readonly (readonly [string, Param])[]
  readonly query: readonly (readonly [string, Param])[]
  /** Returns the tags of a read; `master` is the name of the master node. */
  readonly tagsOf: (request: EdgeRead, master: string) => readonly Tag[]
  /** With this query parameter the response is a file, which is streamed. */
  readonly rawWhen?: string
  /** The response is joined from those of several nodes. */
  readonly isJoined: boolean
  /** Worker nodes answer from data that they replicate from the master. */
  readonly isReplicated: boolean
  /** The kind of rows that snapshots of the collection have; absent: there are none. */
  readonly snapshot?: RowKind
  /**
   * The kind of rows that the edge computes responses of: from a snapshot, or while no node answers from a stored response
   * that has all rows; absent: it computes none.
   */
  readonly rows?: RowKind
}

const policies = new WeakMap<Endpoint, CompiledPolicy | string>()

/** Returns the policy of a record, or as text why its responses are never stored. Computed once for each record. */
export function compilePolicy(record: Endpoint): CompiledPolicy | string {
  const known = policies.get(record)
  if (known !== undefined) return known
  const policy = compile(record)
  policies.set(record, policy)
  return policy
}

function compile(record: Endpoint): CompiledPolicy | string {
  if (!('cache' in record)) return 'it is a write'
  const policy: CachePolicy = record.cache
  if ('never' in policy) return policy.never
  // The catalogue is checked for this by the build too; a secret must not depend on one check.
  if (record.secret !== 'none') return 'it may hold a secret'
  if (record.target.kind === 'edge') return 'the edge answers it itself'
  const raw: Endpoint['response']['raw'] = record.response.raw
  const params: Readonly<Record<string, Param>> = record.params
  const name = nameOf(record)
  return {
    name,
    group: policy.group,
    stale: policy.stale ?? 'allowed',
    params: Object.entries(params).sort(byName),
    query: Object.entries(record.query).sort(byName),
    tagsOf: compileReadTags(policy, name),
    ...(raw?.when !== undefined && { rawWhen: raw.when }),
    isJoined: record.target.kind === 'everyNode' || record.target.kind === 'severalNodes',
    isReplicated: record.target.kind === 'anyNode',
    ...rowsOf(record, policy),
  }
}

/** A response of several nodes is joined from stored parts of theirs. */
function rowsOf(
  { query, target }: Endpoint,
  { snapshot, storedRows, tags }: StoringPolicy,
): Pick<CompiledPolicy, 'snapshot' | 'rows'> | undefined {
  // A snapshot has the tags of all its queries.
  if (tags.some((tag) => tag.includes('{query.'))) return undefined
  if (snapshot !== undefined) return { snapshot, rows: snapshot }
  const isPaged = ['offset', 'limit'].every((name) => Object.hasOwn(query, name)) && target.kind !== 'severalNodes'
  return isPaged && storedRows !== 'none' ? { rows: storedRows ?? 'pages' } : undefined
}

function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1
}
