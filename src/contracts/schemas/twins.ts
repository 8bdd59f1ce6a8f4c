/**
 * Twins: one description of a fact or an operation of a node gives two records, `/manager/…` (the master) and
 * `/cluster/:node_id/…` (the named node). Every GET of the latter gives a third record for several nodes at once.
 */
import type {
  CacheGroup,
  CachePolicy,
  Collection,
  ConditionalTags,
  Method,
  NodeTarget,
  Param,
  Permission,
  ReadMethod,
  Tag,
  V3Endpoint,
  V3Read,
  V3Write,
  WriteMethod,
} from '../endpoint.ts'
import { read, type Translated, translationOf, write } from '../record.ts'
import { list, nodeIds } from './params.ts'
import { cacheIn, collectionOf, masterByTwin, staleWhileHot } from './shared.ts'

/** What follows `/manager/` in the table of translations, which the twins share. */
type Part<Verb extends string, Key = Translated> = Key extends `${Verb} /manager/${infer Rest}` ? Rest : never

interface Described extends Partial<Pick<V3Endpoint, 'query' | 'secret' | 'slow' | 'priority' | 'beyondSeed'>> {
  /** The path behind `/manager/` and `/cluster/:node_id/`. */
  readonly part: string
  readonly summary: string
  readonly permission: Permission
  /** Under `/cluster/:node_id/` a node returns a mixture of the data of all nodes, whichever node is named (recorded). */
  readonly isMixedByCluster?: true
}

interface DescribedRead extends Described, Pick<V3Read, 'response'> {
  readonly part: Part<ReadMethod>
  /** Absent: stored as facts of the node. */
  readonly cache?: CachePolicy
  readonly storedRows?: Collection
  /** The status of the node, which clients act on. */
  readonly isStatus?: true
}

interface DescribedWrite<Verb extends WriteMethod> extends Described, Pick<V3Write, 'body'> {
  readonly part: Part<Verb>
  /** `node` is the tag of the written node. */
  readonly invalidates: (node: Tag) => readonly (Tag | ConditionalTags)[]
  /** `node` is the name of the written node. */
  readonly writeLock?: (node: string) => Tag
}

interface Side {
  readonly root: '/manager' | '/cluster/:node_id'
  readonly group: CacheGroup
  /** The placeholder of the node's name in tags. */
  readonly node: '{master}' | '{node_id}'
  readonly target: (described: Pick<Described, 'part' | 'isMixedByCluster'>) => NodeTarget
}

const sides: readonly Side[] = [
  { root: '/manager', group: 'manager', node: '{master}', target: () => masterByTwin },
  {
    root: '/cluster/:node_id',
    group: 'cluster',
    node: '{node_id}',
    target: ({ part, isMixedByCluster }) => ({
      kind: 'node',
      twin: `/manager/${part}`,
      throughOthers: isMixedByCluster !== true,
    }),
  },
]

/** Returns the two records of a fact of a node. */
export function readTwins({
  cache,
  storedRows,
  isStatus,
  summary,
  ...described
}: DescribedRead): readonly V3Endpoint[] {
  return sides.map((side) => {
    const facts = cacheIn(side.group, `node:${side.node}`, 'node:*')
    return read<string>(`${side.root}/${described.part}`, summary, {
      ...factsOf(side, 'GET', described),
      cache: cache ?? (isStatus ? staleWhileHot(facts) : facts),
      ...(storedRows && { storedRows }),
    })
  })
}

/** Returns the two records of an operation on a node. */
export function writeTwins<Verb extends WriteMethod>(
  method: Verb,
  { invalidates, writeLock, summary, ...described }: DescribedWrite<Verb>,
): readonly V3Endpoint[] {
  return sides.map((side) =>
    write<string>(method, `${side.root}/${described.part}`, summary, {
      ...factsOf(side, method, described),
      invalidates: invalidates(`node:${side.node}`),
      ...(writeLock && { writeLock: writeLock(side.node) }),
    }),
  )
}

function factsOf<D extends Omit<Described, 'summary'>>(side: Side, method: Method, all: D) {
  const { part, isMixedByCluster: _, ...described } = all
  return {
    ...described,
    translation: translationOf(`${method} /manager/${part}` as Translated),
    target: side.target(all),
  }
}

type OneNode = V3Read<`/cluster/:node_id/${string}`> & { readonly target: { readonly kind: 'node' } }

export function isOfNode(record: V3Endpoint): record is OneNode {
  return record.method === 'GET' && record.target.kind === 'node'
}

/**
 * Returns the record of several nodes (`*` or a list) for a record of one node. The responses are joined into one
 * collection.
 */
export function severalNodes(one: OneNode): V3Endpoint {
  const { path, summary, query, permission, secret, response, cache, slow } = one
  const { node_id: _, ...params }: Readonly<Record<string, Param>> = one.params
  return read<string>(path.replace(':node_id', ':node_ids'), `${summary}, of several nodes`, {
    params: { node_ids: nodeIds, ...params },
    // Pages are cut from the joined collection, also where the response of a single node has no pages.
    query: { ...list, ...Object.fromEntries(Object.entries(query).filter(([name]) => !Object.hasOwn(list, name))) },
    permission,
    secret,
    target: { kind: 'severalNodes', ofNode: path },
    response: collectionOf(response.schema),
    cache: policyOfJoined(cache),
    beyondSeed: true,
    ...(slow && { slow }),
  })
}

/** Every write to any node invalidates the joined response, because its nodes are known only when it is fetched. */
function policyOfJoined(cache: CachePolicy): CachePolicy {
  if ('never' in cache) return cache
  const tags = cache.tags.map((tag) => (tag === 'node:{node_id}' ? 'collection:nodes' : tag))
  return { ...cache, tags }
}
