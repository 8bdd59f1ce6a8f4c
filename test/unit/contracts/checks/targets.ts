/** Checks permissions, targets, merge rules, joined collections and write locks. */
import type { Endpoint, Param, ReadEndpoint, ResponseShape } from '../../../../src/contracts/endpoint.ts'
import { fills } from './invalidation.ts'
import { type Check, faults, fieldsOf, idOf, isRead, isWrite, partOf, pathNames } from './record-facts.ts'

export const checkPermission: Check = ({ permission, target, method }) =>
  faults(
    [
      permission !== 'signedIn' && !/^[a-z-]+:[a-z-]+$/.test(permission),
      `the permission ${permission} does not have the form agents:read; write resource:action in lower case`,
    ],
    [
      permission === 'signedIn' && method !== 'GET' && target.kind !== 'edge',
      'every signed-in user may write; name the permission that the write needs',
    ],
  )

export const checkOwner: Check = (record) => {
  const { target } = record
  const names = pathNames(record)
  return faults(
    [
      target.kind === 'agentOwner' && !names.includes('agent_id'),
      'the path has no agent; add :agent_id or choose another target',
    ],
    [
      target.kind === 'agentOwners' && target.ids === 'group' && !names.includes('group_id'),
      'the path has no group; add :group_id or take the ids from the body',
    ],
    [
      target.kind === 'agentOwners' && target.ids === 'body' && !fieldsOf(record).includes('ids'),
      'the body has no agents; add the field ids',
    ],
    [
      target.kind === 'node' && !names.includes('node_id'),
      'the path has no node; add :node_id or choose another target',
    ],
  )
}

/** The edge sends `/cluster/:node_id/…` to the node as `/manager/…`, and `/manager/…` through a worker as its twin. */
export const checkTwin: Check = (record, all) => {
  const { target, method, path } = record
  const twinOf = (other: Endpoint) =>
    other.method === method && other.target.kind === 'node' && other.target.twin === path
  return faults(
    [
      target.kind === 'node' && !all.some((other) => other.method === method && other.path === target.twin),
      `its twin ${target.kind === 'node' ? target.twin : ''} has no record; add it or correct the name of the twin`,
    ],
    [
      target.kind === 'master' && target.through === 'twin' && !all.some(twinOf),
      'no record names it as its twin; add /cluster/:node_id/…, or set through to any or none',
    ],
  )
}

/** The shapes of responses of all nodes that can be joined. An object is a verdict. */
const JOINED_READS: readonly ResponseShape['data'][] = ['collection', 'object']
const JOINED_WRITES: readonly ResponseShape['data'][] = ['message']

export const checkMergeRule: Check = (record) => {
  const { target, response } = record
  if (target.kind !== 'everyNode' && target.kind !== 'agentOwners') return []
  const joined = target.kind === 'agentOwners' ? ['affected'] : isRead(record) ? JOINED_READS : JOINED_WRITES
  return faults(
    [
      !joined.includes(response.data),
      `responses of the shape ${response.data} cannot be joined; choose another target or shape`,
    ],
    [
      response.data === 'object' && isRead(record) && !('never' in record.cache) && record.cache.stale !== 'never',
      'clients act on a verdict, so an old one is wrong; set cache to neverStale(…)',
    ],
  )
}

/** `/cluster/:node_ids/…` must match its record of one node, `/cluster/:node_id/…`. */
export const checkSeveralNodes: Check = (record, all) => {
  const { target, path, method, response, params } = record
  if (target.kind !== 'severalNodes') return []
  const nodes: Param | undefined = (params as Readonly<Record<string, Param>>).node_ids
  const part = partOf(record, all)
  return faults(
    [method !== 'GET', 'writes to several nodes are not supported; use GET, or name one node'],
    [part?.target.kind !== 'node', `${target.ofNode} is not a record of one node; add it or correct ofNode`],
    [
      path !== target.ofNode.replace(':node_id', ':node_ids'),
      `the path does not match ${target.ofNode}; correct path or ofNode`,
    ],
    [
      nodes?.kind !== 'node_names' || nodes.routePattern === undefined,
      'the router cannot distinguish several nodes from one; describe :node_ids as nodeIds',
    ],
    [response.data !== 'collection', 'responses of several nodes form a collection; set response to collectionOf'],
    ...(part === undefined ? [] : weakerThan(record, part)),
  )
}

export const checkJoinedRows: Check = (record, all) => {
  const { target, response, query } = record
  const edgeOnly = Object.keys(query).filter((name) => query[name]?.edgeOnly)
  const joins = target.kind === 'severalNodes' || (target.kind === 'everyNode' && response.data === 'collection')
  const ofAgent = target.kind === 'everyNode' ? target.ofAgent : undefined
  const part = partOf(record, all)
  return faults(
    [
      joins && (ofAgent !== undefined || part?.response.data === 'collection') && rowsOf(record) === undefined,
      `the sort order of its rows is unknown; set ${ofAgent === undefined ? 'storedRows' : 'snapshot'}`,
    ],
    [
      edgeOnly.length > 0 && ofAgent === undefined,
      `the edge cannot evaluate ${edgeOnly.join(', ')}; remove edgeOnly, or set ofAgent`,
    ],
    [ofAgent !== undefined && !joins, 'ofAgent applies to joined collections only; remove it'],
    [
      ofAgent !== undefined && part?.target.kind !== 'agentOwner',
      `${ofAgent} is not a record of one agent; add it or correct ofAgent`,
    ],
    ...(ofAgent === undefined || part === undefined
      ? []
      : [...weakerThan(record, part), ...differingFrom(record, part)]),
  )
}

/** Returns the kind of the rows, as the cache policy names it. */
function rowsOf(record: Endpoint) {
  if (!('cache' in record) || 'never' in record.cache) return undefined
  return record.cache.snapshot ?? record.cache.storedRows
}

/** The whole requires the same permission as its parts. */
function weakerThan(whole: Endpoint, part: ReadEndpoint): readonly (readonly [boolean, string])[] {
  return [
    [whole.permission !== part.permission, `${idOf(part)} requires ${part.permission}; set permission to that`],
    [whole.secret !== part.secret, `${idOf(part)} has secret ${part.secret}; set secret to that`],
  ]
}

/** Rows of one agent and of all agents must be of the same kind, and both records must have the same filters. */
function differingFrom(whole: Endpoint, part: ReadEndpoint): readonly (readonly [boolean, string])[] {
  const unknown = Object.entries(whole.query).filter(
    ([name, { edgeOnly }]) => !edgeOnly && !Object.hasOwn(part.query, name),
  )
  return [
    [
      part.response.data === 'collection' && rowsOf(whole) !== rowsOf(part),
      `${idOf(part)} has other rows; set the same snapshot in both`,
    ],
    [
      part.response.data === 'collection' && unknown.length > 0,
      `${idOf(part)} has no ${unknown.map(([name]) => name).join(', ')}; add it to both`,
    ],
  ]
}

/**
 * Writes with the same lock name run one at a time over all replicas, so the name must be known before the write is
 * sent.
 */
export const checkWriteLock: Check = (record) => {
  const writeLock: unknown = 'writeLock' in record ? record.writeLock : undefined
  if (typeof writeLock !== 'string') return []
  return faults(
    [isRead(record), 'a read needs no lock; remove writeLock'],
    [
      isWrite(record) && (writeLock.includes('{answer.') || !fills(writeLock, record)),
      `${writeLock} has an unknown placeholder; use a path parameter, {master}, {query.…} or {body.…}`,
    ],
  )
}
