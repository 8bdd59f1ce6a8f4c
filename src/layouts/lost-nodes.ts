/**
 * What clients of the v4 contract get while a worker is lost: the master passes calls on to it, and they hang. A master
 * that knows of the loss answers for the other nodes at once, with failed items. The edge does the same before: it leaves
 * the agents and nodes in question out of the request, and adds them to the response as the manager would.
 */

import type { WithoutLost } from '../contracts/endpoint.ts'
import { type CallNode, type NodeFailure, type NodeResult, nodeOfAgent, type PassedOnTo } from '../core/node-call.ts'
import { PROBLEM_TYPE } from '../core/origins.ts'
import type { EdgeRequest } from '../core/request.ts'
import { REFUSED_BY_RIGHTS } from '../core/response.ts'
import { ownField, ownText } from '../core/values.ts'
import { fillPath } from './call-path.ts'
import { createNeededRead, dataIn } from './dialect.ts'
import { addFailed, type FailedItem, failedOnly, LOST_ITEM, NOT_CONNECTED_ITEM, unknownNode } from './failed-items.ts'
import { NO_AGENT, NO_SUCH_NODE } from './v4/content.ts'
import { formatQuery, MAX_IDS, MAX_LIST_BYTES } from './v4/request-line.ts'

/** A call for a request: what differs from the request itself. */
export interface ChangedCall {
  readonly query: EdgeRequest['query']
  readonly path?: string
  readonly passedOnTo?: PassedOnTo
}

/** A request, and how to ask its node otherwise. */
export interface Question<Asked> {
  readonly request: EdgeRequest
  /** The asked node. */
  readonly node: string
  readonly call: CallNode
  readonly ask: (asked: Asked) => Promise<NodeResult>
  /** Milliseconds that are left; `undefined`: no limit. */
  readonly remaining: () => number | undefined
}

interface LostNodesQuestion extends Question<ChangedCall> {
  /** The query of the call that failed. */
  readonly query: EdgeRequest['query']
}

/** Further nodes may be found to be lost while the others are asked. */
const MAX_ROUNDS = 3

interface AnswerWithoutLost {
  readonly result: NodeResult
  /** Whether the result lacks what the lost nodes have. */
  readonly lacksNodes: boolean
}

/** Returns the answer of the other nodes; `failure` itself if the edge cannot leave the lost ones out. */
export async function answerWithoutLost(question: LostNodesQuestion, failure: NodeFailure): Promise<AnswerWithoutLost> {
  if (failure.lostNodes === undefined || failure.lostNodes.length === 0) return { result: failure, lacksNodes: false }
  const { request, node } = question
  const { endpoint } = request
  const { target } = endpoint
  const withoutLost = endpoint.contract === 'v4' ? endpoint.withoutLost : undefined
  const passesOnTo = target.kind === 'master' ? target.passesOnTo : undefined
  if (passesOnTo === 'agentOwner') return { result: unknownNode(node), lacksNodes: true }
  if (passesOnTo === 'node') return { result: failedOnly(node, [request.params.node_id ?? '']), lacksNodes: true }
  const lost = new Set<string>()
  let answer: AnswerWithoutLost = { result: failure, lacksNodes: false }
  for (let round = 0; round < MAX_ROUNDS && withoutLost !== undefined; round += 1) {
    const { result } = answer
    if (result.ok || result.lostNodes === undefined || result.lostNodes.length === 0) return answer
    for (const name of result.lostNodes) lost.add(name)
    const division = await divide(question, withoutLost, lost)
    if (division === undefined) return answer
    if ('ok' in division) return { result: division, lacksNodes: false }
    answer = {
      result: await askOthers(question, withoutLost, lost, division),
      lacksNodes: division.others !== undefined,
    }
  }
  return answer
}

interface Division {
  /** The names in the failed item. */
  readonly failed: readonly string[]
  /** The agents or nodes to ask for. Absent: the request concerns no lost node. */
  readonly others?: readonly string[]
  /** Whether the request names none, which means all. */
  readonly meansAll: boolean
}

/**
 * Divides what the request names. Returns the refusal of the token, and `undefined` if it is not certain what the request
 * concerns: the manager leaves out of a list what the caller may not read, although a command may concern it.
 */
function divide(
  question: LostNodesQuestion,
  { list }: WithoutLost,
  lost: ReadonlySet<string>,
): Promise<Division | NodeResult | undefined> {
  const { query } = question
  if (list === 'nodes_list') return divideNodes(question, namesIn(query.nodes_list), lost)
  if (list === 'agents_list') return divideAgents(question, '/agents', namesIn(query.agents_list), lost)
  return divideAgents(question, list.members, undefined, lost)
}

async function divideNodes(
  question: LostNodesQuestion,
  named: readonly string[] | undefined,
  lost: ReadonlySet<string>,
): Promise<Division | undefined> {
  const failed = (named ?? []).filter((name) => lost.has(name))
  if (named !== undefined && failed.length === 0) return { failed, meansAll: false }
  const all = named ?? (await readNodeNames(question))
  return all && { failed, others: all.filter((name) => !lost.has(name)), meansAll: named === undefined }
}

/** `path`: of the collection with the agents. */
async function divideAgents(
  question: LostNodesQuestion,
  path: string,
  named: readonly string[] | undefined,
  lost: ReadonlySet<string>,
): Promise<Division | NodeResult | undefined> {
  const meansAll = named === undefined
  if (meansAll && !(await mayReadAll(question, 'agent:read', 'agent:id:*'))) return undefined
  const query = { select: 'id,node_name', limit: String(MAX_IDS), ...(named && { agents_list: named.join(',') }) }
  const result = await read(question, path, fillPath(path, question.request.params) + formatQuery(query))
  if (!result.ok) return result.fault === 'refusedCredentials' ? result : undefined
  const data = dataIn(result)
  const rows = ownField(data, 'affected_items')
  if (!Array.isArray(rows) || rows.length < Number(ownField(data, 'total_affected_items'))) return undefined
  const known = new Set([...rows.map((row) => ownText(row, 'id')), ...missingIn(data)])
  if (named?.some((id) => !known.has(id))) return undefined
  const lostRows = rows.filter((row) => lost.has(nodeOfAgent(row) ?? ''))
  if (lostRows.length === 0) return { failed: [], meansAll }
  const lostIds = new Set(lostRows.map((row) => ownText(row, 'id')))
  const ids = named ?? rows.flatMap((row) => ownText(row, 'id') ?? [])
  const others = ids.filter((id) => !lostIds.has(id))
  const failed = [...new Set(lostRows.map((row) => nodeOfAgent(row) ?? ''))].sort()
  return others.join(',').length > MAX_LIST_BYTES ? undefined : { failed, others, meansAll }
}

/** Returns the named agents that do not exist. */
function missingIn(data: unknown): readonly string[] {
  const failed = ownField(data, 'failed_items')
  const items = Array.isArray(failed) ? (failed as FailedItem[]) : []
  return items.flatMap(({ error, id }) => (error.code === NO_AGENT ? id.map(String) : []))
}

/** Returns the names of all nodes; `undefined` if the caller may not read all of them. */
async function readNodeNames(question: LostNodesQuestion): Promise<readonly string[] | undefined> {
  if (!(await mayReadAll(question, 'cluster:read', 'node:id:*'))) return undefined
  const path = '/cluster/nodes'
  const rows = ownField(dataIn(await read(question, path, `${path}?select=name`)), 'affected_items')
  return Array.isArray(rows) ? rows.flatMap((row) => ownText(row, 'name') ?? []) : undefined
}

/** Whether the caller has the action for all resources of a kind, without an exception. */
async function mayReadAll(question: LostNodesQuestion, action: string, resource: string): Promise<boolean> {
  const path = '/security/users/me/policies'
  const effects = ownField(dataIn(await read(question, path, path)), action)
  return ownField(effects, resource) === 'allow' && Object.values(Object(effects)).every((effect) => effect === 'allow')
}

function read({ request, node, call, remaining }: LostNodesQuestion, endpoint: string, path: string) {
  return call(createNeededRead(request, { node, path, endpoint, timeout: remaining() }))
}

/** Returns `undefined` for no list, which means all. */
function namesIn(list: string | undefined): readonly string[] | undefined {
  const names = list?.split(',').filter((name) => name !== '') ?? []
  return names.length === 0 || names.includes('all') ? undefined : names
}

async function askOthers(
  { node, ask, query }: LostNodesQuestion,
  rules: WithoutLost,
  lost: ReadonlySet<string>,
  { failed, others, meansAll }: Division,
): Promise<NodeResult> {
  const { list, leftOut } = rules
  const passedOnTo = { without: [...lost] }
  if (others === undefined) return ask({ query, passedOnTo })
  const isOfNodes = list === 'nodes_list'
  if (others.length === 0) return isOfNodes ? failedOnly(node, failed) : unknownNode(node)
  const result = await ask({
    query: { ...query, [isOfNodes ? list : 'agents_list']: others.join(',') },
    ...(typeof list === 'object' && { path: list.command }),
    passedOnTo,
  })
  if (!result.ok || result.response.type === PROBLEM_TYPE || !Buffer.isBuffer(result.response.body)) return result
  const error = isOfNodes ? NOT_CONNECTED_ITEM : LOST_ITEM
  const body = await addFailed(result.response.body, {
    added: failed.length === 0 ? [] : [{ error, id: failed }],
    isLeftOut: (code) => meansAll && (IF_NAMED.has(code) || leftOut === 'every' || leftOut?.includes(code) === true),
    message: rules.message,
  })
  return { ok: true, response: { ...result.response, body } }
}

/** A request that names nothing concerns what the user has rights for, and nodes that are connected. */
const IF_NAMED: ReadonlySet<number> = new Set([REFUSED_BY_RIGHTS, NO_SUCH_NODE])
