/**
 * Merge rule `affected`: each owner of agents acts on its own agents, and one response lists the affected and the failed
 * ones. There may be 100,000 agents, so the work is linear and yields to the event loop.
 */
import { EdgeError } from '../../core/errors.ts'
import { jsonInTurns } from '../../core/long-values.ts'
import type { ClusterView } from '../../core/node-call.ts'
import type { EdgeWrite, Handler } from '../../core/request.ts'
import type { EdgeResponse } from '../../core/response.ts'
import { traceAsync } from '../../core/traced.ts'
import { type CooperativeTask, isTurnOver, PAUSE, runTask, waitForJsonTurn } from '../../core/turns.ts'
import { ownField, ownText } from '../../core/values.ts'
import type { NodeByAgent } from '../agent-owners.ts'
import { callNode, createResponse, createUnsentOutcome, type NodeOutcome, respondWithRefusal } from '../node-outcome.ts'
import type { PartError } from '../node-part.ts'
import { NodeReport } from '../node-report.ts'

/** The outcome of a call to an owner, with the requested agents that it was sent for. */
interface OwnerOutcome {
  readonly ids: readonly string[]
  readonly outcome: NodeOutcome
}

/** A node rejects JSON bodies over 100 KiB (701), and its response about this many agents is parsed in a few milliseconds. */
const MAX_IDS_PER_CALL = 2000
/** Six digits, quotes and a comma: 100,000 agents. */
const BYTES_PER_ID = 9

interface CallOwnersPorts {
  /** Sends a request to one node. */
  readonly forward: Handler<EdgeWrite>
  readonly view: ClusterView
}

/** Returns the joined response for `ids`, in their order. Agents without a known owner are not sent and listed as failed. */
export async function callOwners(
  ports: CallOwnersPorts,
  request: EdgeWrite,
  ids: readonly string[],
  nodes: NodeByAgent,
): Promise<EdgeResponse> {
  const { idsByNode, unsent } = await runTask(groupByNode(ids, nodes, ports.view))
  const report = new NodeReport([...idsByNode.keys()], performance.now())
  const call = (node: string, own: readonly string[]) => callOwner(report, ports.forward, request, node, own)
  const sent = await Promise.all([...idsByNode].map(([node, own]) => call(node, own)))
  return traceAsync(request.trace, 'merge', async () =>
    runTask(mergeAffected(ids, [...sent.flat(), ...unsent], report)),
  )
}

interface GroupedIds {
  /** In the order of the nodes. */
  readonly idsByNode: ReadonlyMap<string, readonly string[]>
  readonly unsent: readonly OwnerOutcome[]
}

function* groupByNode(ids: readonly string[], nodes: NodeByAgent, view: ClusterView): CooperativeTask<GroupedIds> {
  const master = view.master().name
  const idsByNode = new Map<string, string[]>(view.nodes().map(({ name }) => [name, []]))
  const unsent: OwnerOutcome[] = []
  for (const id of ids) {
    const node = nodes.get(id) ?? master
    if (node instanceof EdgeError) unsent.push({ ids: [id], outcome: createUnsentOutcome(node) })
    else {
      const own = idsByNode.get(node) ?? []
      own.push(id)
      idsByNode.set(node, own)
    }
    if (isTurnOver()) yield PAUSE
  }
  return { idsByNode, unsent }
}

/** Calls of one node follow each other. After a call without a response, the rest is not sent. */
async function callOwner(
  report: NodeReport,
  forward: Handler<EdgeWrite>,
  request: EdgeWrite,
  node: string,
  ids: readonly string[],
): Promise<readonly OwnerOutcome[]> {
  const outcomes: OwnerOutcome[] = []
  for (let at = 0; at < ids.length; at += MAX_IDS_PER_CALL) {
    const some = ids.slice(at, at + MAX_IDS_PER_CALL)
    await waitForJsonTurn(some.length * BYTES_PER_ID)
    const body = { kind: 'fields', fields: { ids: some } } as const
    const outcome = await callNode(report, forward, node, { ...request, body, extent: { node } })
    outcomes.push({ ids: some, outcome })
    const rest = ids.slice(at + MAX_IDS_PER_CALL)
    const edgeError = outcome.error?.edgeError
    if (edgeError !== undefined && rest.length > 0) {
      return [...outcomes, { ids: rest, outcome: createUnsentOutcome(errorOfRest(outcome, edgeError)) }]
    }
  }
  return outcomes
}

/** The first call may have reached the node. The others were not sent, and their error must say so. */
function errorOfRest({ node, isUnknown }: NodeOutcome, error: EdgeError): EdgeError {
  return isUnknown ? new EdgeError(920, ` (${node}: not sent after error ${error.code})`) : error
}

/** The texts of the manager. */
const ALL_RESTARTED = 'All selected agents were restarted'
const SOME_NOT_RESTARTED = 'Some agents were not restarted'

/** `ids`: the requested agents, each in one of the outcomes; the response has their order. */
function* mergeAffected(
  ids: readonly string[],
  byOwner: readonly OwnerOutcome[],
  report: NodeReport,
): CooperativeTask<EdgeResponse> {
  const outcomes = byOwner.map(({ outcome }) => outcome)
  if (!outcomes.some(({ part }) => part !== undefined)) return respondWithRefusal(outcomes, report)
  const failures = new Map<string, unknown>()
  for (const owner of byOwner) {
    const rows = yield* addFailures(failures, owner)
    if (rows > 0) report.addRows(owner.outcome.node, rows, rows)
  }
  const affected: string[] = []
  const failed: unknown[] = []
  for (const id of ids) {
    if (failures.has(id)) failed.push(failures.get(id))
    else affected.push(id)
    if (isTurnOver()) yield PAUSE
  }
  const msg = failed.length === 0 ? ALL_RESTARTED : SOME_NOT_RESTARTED
  const data = { msg, affected_agents: affected, ...(failed.length > 0 && { failed_ids: failed }) }
  return createResponse((yield jsonInTurns({ error: 0, data })) as Buffer, outcomes, report)
}

/**
 * Adds the failed ones of the agents that were sent to an owner; returns the number of the others. Failed are those that
 * the owner lists as failed or does not mention, and all if it did not succeed. Agents that were not requested from this
 * node do not count, and an agent that is listed as affected and as failed has failed.
 */
function* addFailures(
  failures: Map<string, unknown>,
  { ids, outcome: { data, error } }: OwnerOutcome,
): CooperativeTask<number> {
  const listed = new Map(listedFailures(data))
  const affected = new Set(affectedIds(data))
  let rows = 0
  for (const id of ids) {
    if (error !== undefined) failures.set(id, createFailure(id, error))
    else if (listed.has(id)) failures.set(id, listed.get(id))
    else if (affected.has(id)) rows += 1
    else failures.set(id, createFailure(id, UNMENTIONED))
    if (isTurnOver()) yield PAUSE
  }
  return rows
}

function affectedIds(data: unknown): readonly string[] {
  const list = ownField(data, 'affected_agents')
  return Array.isArray(list) ? list.map(String) : []
}

type Failure = readonly [id: string, element: unknown]

function listedFailures(data: unknown): readonly Failure[] {
  const list = ownField(data, 'failed_ids')
  return Array.isArray(list) ? list.map((element): Failure => [idOf(element), element]) : []
}

const UNMENTIONED = { code: 925, message: new EdgeError(925, ' (the node does not mention this agent)').message }

function createFailure(id: string, { message, code }: Pick<PartError, 'message' | 'code'>): unknown {
  return { id, error: { message, code } }
}

function idOf(element: unknown): string {
  return typeof element === 'string' ? element : (ownText(element, 'id') ?? '')
}
