/** Sends a write to the owners of many agents: each owner gets the ids of its own agents, in bodies that nodes accept. */

import { EdgeError } from '../core/errors.ts'
import type { ClusterView } from '../core/node-call.ts'
import type { EdgeWrite, Handler } from '../core/request.ts'
import type { EdgeResponse } from '../core/response.ts'
import { traceAsync } from '../core/traced.ts'
import { type CooperativeTask, isTurnOver, PAUSE, runTask, waitForJsonTurn } from '../core/turns.ts'
import type { NodeByAgent } from './agent-owners.ts'
import { callNode, createUnsentOutcome, type NodeOutcome } from './node-outcome.ts'
import { mergeAffected, type OwnerOutcome } from './rules/affected.ts'

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
  const sent = await Promise.all([...idsByNode].map(([node, own]) => callOwner(ports.forward, request, node, own)))
  return traceAsync(request.trace, 'merge', async () => mergeAffected(ids, [...sent.flat(), ...unsent]))
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
    else addTo(idsByNode, node, id)
    if (isTurnOver()) yield PAUSE
  }
  return { idsByNode, unsent }
}

function addTo(idsByNode: Map<string, string[]>, node: string, id: string): void {
  const ids = idsByNode.get(node)
  if (ids === undefined) idsByNode.set(node, [id])
  else ids.push(id)
}

/** Calls of one node follow each other. After a call without a response, the rest is not sent. */
async function callOwner(
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
    const outcome = await callNode(forward, node, { ...request, body, extent: { node } })
    outcomes.push({ ids: some, outcome })
    const rest = ids.slice(at + MAX_IDS_PER_CALL)
    if (outcome.edgeError !== undefined && rest.length > 0) {
      return [...outcomes, { ids: rest, outcome: createUnsentOutcome(errorOfRest(outcome, outcome.edgeError)) }]
    }
  }
  return outcomes
}

/** The first call may have reached the node. The others were not sent, and their error must say so. */
function errorOfRest({ node, isUnknown }: NodeOutcome, error: EdgeError): EdgeError {
  return isUnknown ? new EdgeError(920, ` (${node}: not sent after error ${error.code})`) : error
}
