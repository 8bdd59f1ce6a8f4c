/**
 * The handler of reads over many nodes: `several-nodes.ts` joins the nodes that the request names (`/cluster/:node_ids/…`),
 * `all-agents.ts` the rows of all agents.
 */

import { CollectionError } from '../collections/request.ts'
import type { Endpoint, ReadEndpoint } from '../contracts/endpoint.ts'
import { AbandonedError } from '../core/presence.ts'
import type { EdgeRead, Handler } from '../core/request.ts'
import { joinAllAgents, type ReadAllAgents } from './all-agents.ts'
import { type JoinCollectionsPorts, type JoinedRead, startJoinedRead } from './joined-read.ts'
import { refuseRequest } from './rules/collection.ts'
import { joinSeveralNodes } from './several-nodes.ts'

/**
 * Returns the handler. `readAllAgents`: how the rows of all agents are read. Responses have a `clusterStatus`; if nodes are
 * missing, they are `partial` and name them in `failed_nodes`. If all nodes fail, it returns the error response of the first
 * one, or rejects if that node did not respond. It also rejects if its signal is aborted, and if all clients have left before
 * a call was sent. The parts whose calls were sent are stored.
 */
export function joinCollections(ports: JoinCollectionsPorts, readAllAgents: ReadAllAgents): Handler<EdgeRead> {
  const partEndpoints = findPartEndpoints(ports.catalogue)
  return async (request) => {
    const read = startJoinedRead(request, ports)
    try {
      const part = partEndpoints.get(request.endpoint)
      if (part === undefined) throw new Error(`${request.endpoint.path} has no endpoint for its parts`)
      const isOfNodes = request.endpoint.target.kind === 'severalNodes'
      const response = await (isOfNodes ? joinSeveralNodes(read, part) : joinAllAgents(read, part, readAllAgents))
      emitJoinEvent(read)
      return response
    } catch (error) {
      if (error instanceof CollectionError) return refuseRequest(error, read.report)
      // If the client has left, missing parts are no failure of their nodes.
      if (!request.client.signal.aborted && !(error instanceof AbandonedError)) emitJoinEvent(read)
      throw error
    } finally {
      read.fanOut.end()
    }
  }
}

/** Emits the contributions of nodes of the cluster. A client may name others, which the console must not list. */
function emitJoinEvent({ request, ports, nodes: known, report, fanOut }: JoinedRead): void {
  if (ports.onJoin === undefined) return
  const nodes = report.contributionsOf(known)
  if (nodes.length === 0) return
  const { requestId, endpoint } = request
  ports.onJoin({ requestId, route: endpoint.path, ms: performance.now() - fanOut.startedAt, nodes })
}

function findPartEndpoints(catalogue: readonly Endpoint[]): ReadonlyMap<Endpoint, ReadEndpoint> {
  const reads = catalogue.filter((endpoint) => endpoint.method === 'GET')
  const byPath = new Map(reads.map((endpoint) => [endpoint.path as string, endpoint]))
  const partEndpoints = new Map<Endpoint, ReadEndpoint>()
  for (const endpoint of byPath.values()) {
    const path = partPathOf(endpoint)
    if (path === undefined) continue
    const part = byPath.get(path)
    if (part === undefined) throw new Error(`${endpoint.path} is joined from ${path}, which is not in the catalogue`)
    partEndpoints.set(endpoint, part)
  }
  return partEndpoints
}

function partPathOf({ target }: Endpoint): string | undefined {
  if (target.kind === 'severalNodes') return target.ofNode
  return target.kind === 'everyNode' ? target.ofAgent : undefined
}
