/**
 * Twins: one description of something that a node says of itself or that can be done to it gives two records,
 * `/manager/…` (the master) and `/cluster/:node_id/…` (that node). What twins differ in is said here, once.
 */
import type {
  CacheGroup,
  CachePolicy,
  ConditionalTags,
  Endpoint,
  Param,
  Permission,
  Priority,
  ResponseShape,
  Secret,
  Tag,
  Target,
  WriteEndpoint,
} from '../endpoint.ts'
import { read, write } from '../record.ts'
import { nodeId } from './params.ts'
import { keepIn } from './tags.ts'
import { masterByTwin } from './targets.ts'

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
