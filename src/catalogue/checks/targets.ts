/** Who may call, where the answer lives, and how several answers join. */
import type { Endpoint, MergeRule, ResponseShape } from '../endpoint.ts'
import { type Check, faults, fieldsOf, isRead, pathNames } from './check.ts'

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
