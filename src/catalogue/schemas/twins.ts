import type {
  CacheGroup,
  CachePolicy,
  ConditionalTags,
  Endpoint,
  Param,
  Permission,
  Priority,
  ReadEndpoint,
  ResponseShape,
  Secret,
  Tag,
  Target,
  WriteEndpoint,
} from '../endpoint.ts'
import { read, write } from '../record.ts'
import { list, nodeId, nodeIds } from './params.ts'
import { collectionOf } from './responses.ts'
import { keepIn, masterByTwin } from './targets.ts'

/**
 * Twins: one description of something that a node says of itself or that can be done to it gives two records,
 * `/manager/…` (the master) and `/cluster/:node_id/…` (that node). What twins differ in is said here, once.
 */

interface Described {
  /** The path behind `/manager/` and `/cluster/:node_id/`. */
  readonly part: string
  readonly summary: string
  readonly params?: Readonly<Record<string, Param>>
  /** Where there is a query, unknown names are refused. */
  readonly query?: Readonly<Record<string, Param>>
  readonly permission: Permission
  readonly secret?: Secret
  readonly response: ResponseShape
  readonly slow?: true
  readonly load?: Priority
}

interface DescribedRead extends Described {
  /** Absent: kept as facts of the node. */
  readonly cache?: CachePolicy
}

interface DescribedWrite extends Described {
  readonly body?: NonNullable<WriteEndpoint['body']>
  /** `node` is the tag of the node that is written to. */
  readonly invalidates: (node: Tag) => readonly (Tag | ConditionalTags)[]
  /** `node` is its name. */
  readonly writeLock?: (node: string) => Tag
}

interface Side {
  readonly root: '/manager' | '/cluster/:node_id'
  readonly group: CacheGroup
  /** The name of the node, where tags are filled. */
  readonly node: '{master}' | '{node_id}'
  readonly params: Readonly<Record<string, Param>>
  readonly target: (part: string) => Target
}

const sides: readonly Side[] = [
  { root: '/manager', group: 'manager', node: '{master}', params: {}, target: () => masterByTwin },
  {
    root: '/cluster/:node_id',
    group: 'cluster',
    node: '{node_id}',
    params: { node_id: nodeId },
    target: (part) => ({ kind: 'node', twin: `/manager/${part}` }),
  },
]

export function readTwins({ cache, ...described }: DescribedRead): readonly Endpoint[] {
  return sides.map((side) =>
    read<string>({ ...recordOf(side, described), cache: cache ?? keepIn(side.group, `node:${side.node}`, 'node:*') }),
  )
}

export function writeTwins(
  method: WriteEndpoint['method'],
  { invalidates, writeLock, body, ...described }: DescribedWrite,
): readonly Endpoint[] {
  return sides.map((side) =>
    write<string>(method, {
      ...recordOf(side, described),
      ...(body && { body }),
      invalidates: invalidates(`node:${side.node}`),
      ...(writeLock && { writeLock: writeLock(side.node) }),
    }),
  )
}

function recordOf(side: Side, { part, params, ...described }: Described) {
  return {
    ...described,
    path: `${side.root}/${part}`,
    section: 'Manager and cluster nodes',
    params: { ...side.params, ...params },
    strictQuery: described.query !== undefined,
    target: side.target(part),
  }
}

/**
 * Several nodes at once, beyond the seed: each part of a node's own gives one more record, whose `:node_ids` is `*` or a
 * list. Each node is asked as the record of one asks it, and what they answer is one collection.
 */

type OneNode = ReadEndpoint<`/cluster/:node_id/${string}`> & { readonly target: { readonly kind: 'node' } }

export function isOfNode(record: Endpoint): record is OneNode {
  return record.method === 'GET' && record.target.kind === 'node'
}

/** The record of several nodes from that of one. */
export function severalNodes(one: OneNode): Endpoint {
  const { path, summary, section, query, permission, secret, response: answer, cache: keep, slow } = one
  const { node_id: _, ...params }: Readonly<Record<string, Param>> = one.params
  return read<string>({
    path: path.replace(':node_id', ':node_ids'),
    summary: `${summary}, of several nodes`,
    section,
    params: { node_ids: nodeIds, ...params },
    // A page of the whole: no node is asked for it where its own answer has none.
    query: { ...list, ...Object.fromEntries(Object.entries(query).filter(([name]) => !Object.hasOwn(list, name))) },
    // What a single node ignores would be taken for a filter of the joined rows.
    strictQuery: true,
    permission,
    secret,
    target: { kind: 'severalNodes', ofNode: path },
    response: rowsOf(answer),
    cache: keptAsWhole(keep),
    beyondSeed: true,
    ...(slow && { slow }),
  })
}

function rowsOf({ description: of, rows }: ResponseShape): ResponseShape {
  return collectionOf(`${of} of each node, with node_name`, rows ?? 'nodeAnswers')
}

/** Kept until a write touches any of the nodes: which they are is not known before they are asked. */
function keptAsWhole(cache: CachePolicy): CachePolicy {
  if ('never' in cache) return cache
  const tags = cache.tags.map((tag) => (tag === 'node:{node_id}' ? 'collection:nodes' : tag))
  return { ...cache, tags }
}
