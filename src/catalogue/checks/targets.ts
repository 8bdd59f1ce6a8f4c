import type { Endpoint, MergeRule, Param, ReadEndpoint, ResponseShape } from '../endpoint.ts'
import { type Check, faults, fieldsOf, idOf, isRead, isWrite, partOf, pathNames } from './record-facts.ts'
import { fills } from './staleness.ts'

/** Who may call, where the answer lives, and how several answers join. */

export const access: Check = ({ permission, target, method }) =>
  faults(
    [
      permission !== 'signedIn' && !/^[a-z-]+:[a-z]+$/.test(permission),
      `the permission ${permission} is no word like agents:read; write resource:action in small letters`,
    ],
    [
      permission === 'signedIn' && method !== 'GET' && target.kind !== 'edge',
      'whoever is signed in may write; name the permission that the write needs',
    ],
  )

export const owners: Check = (record) => {
  const { target } = record
  const names = pathNames(record)
  return faults(
    [
      target.kind === 'agentOwner' && !names.includes('agent_id'),
      'the owner of no agent is asked; put :agent_id into the path or choose another target',
    ],
    [
      target.kind === 'agentOwners' && target.ids === 'group' && !names.includes('group_id'),
      'the owners of no group are asked; put :group_id into the path or take the ids from the body',
    ],
    [
      target.kind === 'agentOwners' && target.ids === 'body' && !fieldsOf(record).includes('ids'),
      'the owners of no agents are asked; give the body a field ids',
    ],
    [
      target.kind === 'node' && !names.includes('node_id'),
      'no node is named; put :node_id into the path or choose another target',
    ],
  )
}

/** `/cluster/:node_id/…` is asked of the node as `/manager/…`, and through a worker the other way round. */
export const twins: Check = (record, all) => {
  const { target, method, path } = record
  const twinOf = (other: Endpoint) =>
    other.method === method && other.target.kind === 'node' && other.target.twin === path
  return faults(
    [
      target.kind === 'node' && !all.some((other) => other.method === method && other.path === target.twin),
      `its twin ${target.kind === 'node' ? target.twin : ''} has no record; describe it, or mend the name of the twin`,
    ],
    [
      target.kind === 'master' && target.through === 'twin' && !all.some(twinOf),
      'no record has it as its twin; describe /cluster/:node_id/…, or set through to any or none',
    ],
  )
}

/** The rule that joins answers of a shape; shapes without one cannot come from several nodes. */
const mergeOf: Readonly<Partial<Record<ResponseShape['data'], MergeRule>>> = {
  collection: 'collection',
  message: 'message',
  affected: 'affected',
  object: 'verdict',
}

export const merges: Check = (record) => {
  const { target, response: answer } = record
  if (target.kind !== 'everyNode' && target.kind !== 'agentOwners') return []
  const fitting = mergeOf[answer.data]
  const label = target.kind === 'everyNode' && target.whenPartial === 'label'
  return faults(
    [fitting === undefined, `answers of the shape ${answer.data} cannot be joined; choose another target or shape`],
    [
      fitting !== undefined && fitting !== target.merge,
      `the merge ${target.merge} does not join the shape ${answer.data}; set merge to ${fitting}`,
    ],
    [
      label && (answer.data === 'message' || answer.data === 'text'),
      'a sentence has no room for failed_nodes; set whenPartial to fail',
    ],
    [
      label && isRead(record) && target.merge === 'verdict',
      'a verdict over some of the nodes would be taken for all; set whenPartial to fail',
    ],
  )
}

/** Collections that are joined of several answers, and writes that take turns. */

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
