/**
 * The handlers of writes and checks on many nodes that do not distribute them by themselves. Each node is called for its
 * own share, calls are never repeated, and the response always names the nodes that did not act.
 */
import type { ReadEndpoint, WriteEndpoint } from '../contracts/endpoint.ts'
import { parseEnvelope } from '../core/envelope.ts'
import { EdgeError } from '../core/errors.ts'
import type { ClusterView } from '../core/node-call.ts'
import { type EdgeRead, type EdgeWrite, fieldsOf, type Handler } from '../core/request.ts'
import type { EdgeResponse } from '../core/response.ts'
import { traceSync } from '../core/traced.ts'
import { ownField, ownText } from '../core/values.ts'
import type { AgentOwners } from './agent-owners.ts'
import type { IsDistributing } from './joined-read.ts'
import { callNode, createResponse, type NodeOutcome, respondWithError, respondWithRefusal } from './node-outcome.ts'
import { NodeReport, originWith } from './node-report.ts'
import { passNotReady } from './owner-unknown.ts'
import { callOwners } from './rules/affected.ts'

interface JoinWritesPorts {
  readonly forward: Handler<EdgeWrite>
  readonly view: ClusterView
  readonly owners: Pick<AgentOwners, 'verifiedOwners' | 'groupMembers'>
  readonly isDistributing: IsDistributing
  /** `restart`: `POST /agents/restart`. */
  readonly endpoints: { readonly restart: WriteEndpoint }
}

interface JoinVerdictsPorts {
  /** The handler of reads, with its cache. */
  readonly read: Handler<EdgeRead>
  readonly view: ClusterView
  /** `validation`: `GET /cluster/:node_id/configuration/validation`. */
  readonly endpoints: { readonly validation: ReadEndpoint }
}

/**
 * Returns the handler of writes for distribution mode `edge`. Throws 931 if owners cannot be found, 932 and 933 if only some
 * nodes acted, and 937 if a node distributes requests itself.
 */
export function joinWrites(ports: JoinWritesPorts): Handler<EdgeWrite> {
  return passNotReady(async (request) => {
    const { target, path } = request.endpoint
    // A client that leaves must not end the write on some of the nodes only.
    request.client.presence?.pin?.()
    if (target.kind === 'everyNode') return callAllNodes(ports, request)
    if (target.kind !== 'agentOwners') throw new Error(`${path} has no results of writes to join`)
    if (target.ids === 'group') return restartGroup(ports, request)
    const ids = idsOf(request)
    return callOwners(ports, request, ids, await ports.owners.verifiedOwners(ids, request))
  })
}

/** Returns the handler of checks for distribution mode `edge`. */
export function joinVerdicts({ read, view, endpoints: { validation } }: JoinVerdictsPorts): Handler<EdgeRead> {
  return async (request) => {
    const names = view.nodes().map(({ name }) => name)
    const report = new NodeReport(names, performance.now(), false)
    const check = (name: string) =>
      callNode(report, read, name, { ...request, endpoint: validation, params: { node_id: name } })
    const outcomes = await Promise.all(names.map(check))
    return traceSync(request.trace, 'merge', mergeVerdicts, outcomes, report)
  }
}

/** Returns the handler of checks for distribution mode `manager`: the cluster uses only the first worker that responds. */
export function joinValidations(ports: JoinVerdictsPorts & { readonly forward: Handler<EdgeRead> }): Handler<EdgeRead> {
  const { view, forward } = ports
  const validateAll = joinVerdicts(ports)
  return (request) => (view.nodes().length < 2 ? forward(request) : validateAll(request))
}

/** Throws 937 before anything is sent if a node would pass the write on to the others. */
async function callAllNodes(ports: JoinWritesPorts, request: EdgeWrite): Promise<EdgeResponse> {
  const { forward, view, isDistributing } = ports
  const names = view.nodes().map(({ name }) => name)
  const answers = await Promise.all(names.map((name) => isDistributing(name, request.caller.credentials)))
  const distributing = names.filter((_, at) => answers[at])
  if (distributing.length > 0) throw new EdgeError(937, ` (${distributing.join(', ')})`)
  const report = new NodeReport(names, performance.now(), false)
  const act = (name: string) => callNode(report, forward, name, { ...request, extent: { node: name } })
  const outcomes = await Promise.all(names.map(act))
  return traceSync(request.trace, 'merge', mergeMessages, outcomes, report)
}

/** The error of the manager for a group that does not exist. */
const NO_SUCH_GROUP = 1710

/**
 * Each node would claim to have restarted all members of a group, also those of other nodes, so each owner gets the ids
 * of the members that report to it. Throws 1750 for a group that has no members or does not exist, as the manager does
 * when it distributes; otherwise its master answers 1000.
 */
async function restartGroup(ports: JoinWritesPorts, request: EdgeWrite): Promise<EdgeResponse> {
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

/** Returns the ids of the body, a list or a text with commas, without duplicates. */
function idsOf(request: EdgeWrite): readonly string[] {
  const ids = ownField(fieldsOf(request), 'ids')
  return [...new Set(Array.isArray(ids) ? ids.map(String) : String(ids ?? '').split(','))]
}

/**
 * Merge rule `message`: all nodes carry out the same action, and the response is the message of the first node.
 * Returns the message of the first node if all nodes succeeded. Throws 932 if only some did, and 933 if it is unknown
 * whether others did; both name the nodes.
 */
function mergeMessages(outcomes: readonly NodeOutcome[], report: NodeReport): EdgeResponse {
  const [first] = outcomes
  const { clusterStatus } = report
  const done = outcomes.flatMap(({ node, part }) => (part === undefined ? [] : node))
  if (first?.part && done.length === outcomes.length) {
    return { ...first.part.response, origin: originWith(clusterStatus) }
  }
  if (done.length === 0) return respondWithRefusal(outcomes, report)
  const missing = outcomes.flatMap(({ node, error }) => (error ? `${node}: ${error.code} ${error.message}` : []))
  const code = outcomes.some(({ isUnknown }) => isUnknown) ? 933 : 932
  throw new EdgeError(code, ` (carried out on ${done.join(', ')}; not on ${missing.join('; ')})`, {
    headers: { 'cluster-status': clusterStatus },
  })
}

/** Merge rule `verdict`: all nodes check the same, and KO of one node is KO of all. Without all verdicts there is none. */
function mergeVerdicts(outcomes: readonly NodeOutcome[], report: NodeReport): EdgeResponse {
  const failed = outcomes.find(({ error }) => error !== undefined)
  // The response of all nodes if none gives a verdict, otherwise the error of the first one that does not.
  if (failed !== undefined) {
    const hasVerdict = outcomes.some(({ part }) => part !== undefined)
    return hasVerdict ? respondWithError(failed, report) : respondWithRefusal(outcomes, report)
  }
  for (const outcome of outcomes) report.setDetail(outcome.node, verdictOf(outcome))
  const refusing = outcomes.filter((outcome) => verdictOf(outcome) !== 'OK')
  const details = refusing.flatMap(({ data }) => listOf(ownField(data, 'details')))
  const data = refusing.length === 0 ? { status: 'OK' } : { status: 'KO', details: [...new Set(details)] }
  return createResponse(Buffer.from(JSON.stringify({ error: 0, data })), outcomes, report)
}

/** Everything except OK is KO. */
function verdictOf({ data }: NodeOutcome): 'OK' | 'KO' {
  return ownText(data, 'status') === 'OK' ? 'OK' : 'KO'
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
