/**
 * The handlers of writes and checks on many nodes that do not distribute them by themselves. Each node is called for its
 * own share, calls are never repeated, and the response always names the nodes that did not act.
 */
import { setMaxListeners } from 'node:events'
import type { Endpoint, MergeRule } from '../catalogue/endpoint.ts'
import { parseEnvelope } from '../core/envelope.ts'
import { EdgeError } from '../core/errors.ts'
import type { ClusterView } from '../core/node-call.ts'
import type { EdgeRequest, Handler } from '../core/request.ts'
import type { EdgeResponse } from '../core/response.ts'
import { traceSync } from '../core/traced.ts'
import { ownField } from '../core/values.ts'
import { type AgentOwners, passNotReady } from './agent-owners.ts'
import { callOwners } from './call-owners.ts'
import type { IsDistributing } from './joined-read.ts'
import { callNode } from './node-outcome.ts'
import { mergeMessages } from './rules/message.ts'
import { mergeVerdicts } from './rules/verdict.ts'

export interface JoinResultsPorts {
  /** Sends a request to one node. */
  readonly forward: Handler
  /** The handler of reads, with its cache. */
  readonly read: Handler
  readonly view: ClusterView
  readonly owners: Pick<AgentOwners, 'verifiedOwners' | 'groupMembers'>
  readonly isDistributing: IsDistributing
  readonly endpoints: {
    /** `POST /agents/restart` */
    readonly restart: Endpoint
    /** `GET /cluster/:node_id/configuration/validation` */
    readonly validation: Endpoint
  }
}

/**
 * Returns the handler for distribution mode `edge`. Throws 931 if owners cannot be found, 932 and 933 if only some nodes
 * acted, and 937 if a node distributes requests itself.
 */
export function joinResults(ports: JoinResultsPorts): Handler {
  return passNotReady(async (request) => {
    const rule = mergeRuleOf(request)
    if (rule === undefined || rule === 'collection') throw new Error(`${request.endpoint.path} has no results to join`)
    allowManyCalls(request)
    return JOIN_BY_RULE[rule](ports, request)
  })
}

/**
 * Returns the handler for distribution mode `manager`: the cluster distributes writes by itself, but in the classic layout it
 * uses only the first worker that responds for a validation.
 */
export function joinValidations(ports: Pick<JoinResultsPorts, 'read' | 'forward' | 'view' | 'endpoints'>): Handler {
  const { view, forward } = ports
  return (request) => {
    if (mergeRuleOf(request) !== 'verdict' || view.nodes().length < 2) return forward(request)
    if (view.layoutOf(view.master().name) === 'newer') return forward(request)
    allowManyCalls(request)
    return validate(ports, request)
  }
}

/** Every call adds a listener; above ten Node.js would warn of a leak. */
function allowManyCalls({ client }: EdgeRequest): void {
  setMaxListeners(0, client.signal)
}

/** How the results of each merge rule are requested; collections are read by `joinCollections`. */
const JOIN_BY_RULE: Readonly<
  Record<Exclude<MergeRule, 'collection'>, (ports: JoinResultsPorts, request: EdgeRequest) => Promise<EdgeResponse>>
> = { message: callAllNodes, verdict: validate, affected: restart }

function mergeRuleOf({ endpoint: { target } }: EdgeRequest): MergeRule | undefined {
  return target.kind === 'everyNode' || target.kind === 'agentOwners' ? target.merge : undefined
}

/** Throws 937 before anything is sent if a node would pass the write on to the others. */
async function callAllNodes(ports: JoinResultsPorts, request: EdgeRequest): Promise<EdgeResponse> {
  const { forward, view } = ports
  const distributing = await findDistributing(ports, request)
  if (distributing.length > 0) throw new EdgeError(937, ` (${distributing.join(', ')})`)
  const outcomes = await Promise.all(
    view.nodes().map(({ name }) => callNode(forward, name, { ...request, node: name })),
  )
  return traceSync(request.trace, 'merge', () => mergeMessages(outcomes))
}

async function findDistributing(
  { view, isDistributing }: JoinResultsPorts,
  { caller }: EdgeRequest,
): Promise<readonly string[]> {
  const names = view.nodes().map(({ name }) => name)
  const answers = await Promise.all(names.map((name) => isDistributing(name, caller.credentials)))
  return names.filter((_, at) => answers[at])
}

async function validate(
  { read, view, endpoints }: Pick<JoinResultsPorts, 'read' | 'view' | 'endpoints'>,
  request: EdgeRequest,
): Promise<EdgeResponse> {
  const { validation } = endpoints
  const outcomes = await Promise.all(
    view
      .nodes()
      .map(({ name }) => callNode(read, name, { ...request, endpoint: validation, params: { node_id: name } })),
  )
  return traceSync(request.trace, 'merge', () => mergeVerdicts(outcomes))
}

async function restart(ports: JoinResultsPorts, request: EdgeRequest): Promise<EdgeResponse> {
  const { target } = request.endpoint
  return target.kind === 'agentOwners' && target.ids === 'group'
    ? restartGroup(ports, request)
    : restartAgents(ports, request, idsOf(request))
}

/** The error of the manager for a group that does not exist. */
const NO_SUCH_GROUP = 1710

/**
 * Each node would claim to have restarted all members of a group, also those of other nodes, so each owner gets the ids
 * of its own members. Throws 1750 for a group that has no members or does not exist, as the manager does when it
 * distributes; otherwise its master answers 1000.
 */
async function restartGroup(ports: JoinResultsPorts, request: EdgeRequest): Promise<EdgeResponse> {
  const found = await ports.owners.groupMembers(request.params.group_id ?? '', request)
  if ('errorResponse' in found) {
    if (parseEnvelope(found.errorResponse).error === NO_SUCH_GROUP) throw new EdgeError(1750)
    return found.errorResponse
  }
  const ids = [...found.nodes.keys()]
  if (ids.length === 0) throw new EdgeError(1750)
  const byIds = { ...request, endpoint: ports.endpoints.restart, params: {}, query: {} }
  return callOwners(ports, byIds, ids, found.nodes)
}

async function restartAgents(
  ports: JoinResultsPorts,
  request: EdgeRequest,
  ids: readonly string[],
): Promise<EdgeResponse> {
  return callOwners(ports, request, ids, await ports.owners.verifiedOwners(ids, request))
}

/** Returns the ids of the body, a list or a text with commas, without duplicates. */
function idsOf({ body }: EdgeRequest): readonly string[] {
  const ids = body?.kind === 'fields' ? ownField(body.fields, 'ids') : undefined
  return [...new Set(Array.isArray(ids) ? ids.map(String) : String(ids ?? '').split(','))]
}
