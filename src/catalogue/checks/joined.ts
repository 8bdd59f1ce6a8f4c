/** Collections that are joined of several answers, and writes that take turns. */
import type { Endpoint, Param, ReadEndpoint } from '../endpoint.ts'
import { type Check, faults, idOf, isRead, isWrite, partOf } from './check.ts'
import { fills } from './staleness.ts'

/** `/cluster/:node_ids/…` asks each node as `/cluster/:node_id/…` asks one. */
export const severalNodes: Check = (record, all) => {
  const { target, path, method, response: answer, params } = record
  if (target.kind !== 'severalNodes') return []
  const nodes: Param | undefined = (params as Readonly<Record<string, Param>>).node_ids
  const part = partOf(record, all)
  return faults(
    [method !== 'GET', 'a write to several nodes is refused; make it a GET, or name one node'],
    [part?.target.kind !== 'node', `${target.ofNode} is no record of one node; describe it, or mend ofNode`],
    [
      path !== target.ofNode.replace(':node_id', ':node_ids'),
      `it is not ${target.ofNode} of several; mend path or ofNode`,
    ],
    [
      nodes?.kind !== 'node_names' || nodes.routePattern === undefined,
      'its nodes are not told apart from one node; describe :node_ids as nodeIds',
    ],
    [answer.data !== 'collection', 'several answers are one collection; set answer to collectionOf'],
    ...(part === undefined ? [] : lessThan(record, part)),
  )
}

export const joinedRows: Check = (record, all) => {
  const { target, response: answer, query } = record
  const here = Object.keys(query).filter((name) => query[name]?.edgeOnly)
  const joins = target.kind === 'severalNodes' || (target.kind === 'everyNode' && target.merge === 'collection')
  const ofAgent = target.kind === 'everyNode' ? target.ofAgent : undefined
  const part = partOf(record, all)
  return faults(
    [joins && answer.rows === undefined, 'nobody knows how its rows sort; name them in answer.rows'],
    [
      here.length > 0 && ofAgent === undefined,
      `nobody answers by ${here.join(', ')}; leave here out, or name the record of one agent in ofAgent`,
    ],
    [ofAgent !== undefined && !joins, 'ofAgent reads rows and nothing of it is a collection; remove it'],
    [
      ofAgent !== undefined && part?.target.kind !== 'agentOwner',
      `${ofAgent} is no record of one agent; describe it, or mend ofAgent`,
    ],
    ...(ofAgent === undefined || part === undefined ? [] : [...lessThan(record, part), ...unlike(record, part)]),
  )
}

/** What guards the parts guards the whole. */
function lessThan(whole: Endpoint, part: ReadEndpoint): readonly (readonly [boolean, string])[] {
  return [
    [whole.permission !== part.permission, `${idOf(part)} needs ${part.permission}; set permission to that`],
    [whole.secret !== part.secret, `${idOf(part)} says ${part.secret} of secrets; set secret to that`],
  ]
}

/** Rows read of one agent must be the rows of all, and their filters known to both; of one object the edge filters itself. */
function unlike(whole: Endpoint, part: ReadEndpoint): readonly (readonly [boolean, string])[] {
  const unknown = Object.entries(whole.query).filter(
    ([name, { edgeOnly: here }]) => !here && !Object.hasOwn(part.query, name),
  )
  return [
    [
      whole.response.rows !== part.response.rows,
      `the rows of ${idOf(part)} are others; give both the same answer.rows`,
    ],
    [
      part.response.data === 'collection' && unknown.length > 0,
      `${idOf(part)} lacks ${unknown.map(([name]) => name).join(', ')}; describe it in both`,
    ],
  ]
}

/** One at a time, over all replicas, of the writes that bear one name; it is known before the write is sent. */
export const turns: Check = (record) => {
  const writeLock: unknown = 'writeLock' in record ? record.writeLock : undefined
  if (typeof writeLock !== 'string') return []
  return faults(
    [isRead(record), 'reads disturb nobody; remove writeLock'],
    [
      isWrite(record) && (writeLock.includes('{answer.') || !fills(writeLock, record)),
      `${writeLock} is filled from nothing; name a value of the path, {master}, {query.…} or {body.…}`,
    ],
  )
}
