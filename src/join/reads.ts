import type { Endpoint } from '../catalogue/endpoint.ts'
import type { Handler } from '../core/request.ts'
import type { EdgeResponse } from '../core/response.ts'
import { CollectionError } from '../query/request.ts'
import { allAgents } from './all-agents.ts'
import { createReadings, type JoinPorts, type Reading } from './fan-out.ts'
import { refusal } from './rules/collection.ts'
import { several } from './several-nodes.ts'

/** Reads of many nodes as one collection: the whole cluster's, or that of the nodes that are named. */

export type { JoinPorts } from './fan-out.ts'

/**
 * Answers carry `clusterStatus`; those that somebody is missing from are `partial` and name who in `failed_nodes`. Rejects
 * where nobody answered, with the error of the first node, and when the client leaves.
 */
export function joinReads(ports: JoinPorts): Handler {
  const readingOf = createReadings(ports)
  const parts = partRecords(ports.catalogue)
  return async (ask) => {
    const reading = readingOf(ask)
    try {
      const joined = await answer(reading, partOf(parts, ask.endpoint))
      tell(reading)
      return joined
    } catch (fault) {
      if (fault instanceof CollectionError) return refusal(fault, reading.ledger)
      // Parts that nobody waits for any more say nothing of their nodes.
      if (!ask.signal.aborted) tell(reading)
      throw fault
    } finally {
      reading.fanOut.end()
    }
  }
}

function answer(reading: Reading, part: Endpoint): Promise<EdgeResponse> {
  return reading.ask.endpoint.target.kind === 'severalNodes' ? several(reading, part) : allAgents(reading, part)
}

function tell({ ask, ports, ledger, fanOut }: Reading): void {
  if (ports.composed === undefined) return
  const nodes = ledger.shares.filter(({ node }) => ports.view.find(node) !== undefined)
  if (nodes.length === 0) return
  const { requestId, endpoint } = ask
  ports.composed({ requestId, route: endpoint.path, ms: performance.now() - fanOut.began, nodes })
}

/** Of each joined record the one that its parts are asked by: the same key, and the load of the whole. */
function partRecords(catalogue: readonly Endpoint[]): ReadonlyMap<Endpoint, Endpoint> {
  const reads = new Map(
    catalogue.filter(({ method }) => method === 'GET').map((record) => [record.path as string, record]),
  )
  return new Map(
    [...reads.values()].flatMap((record) => {
      const path = pathOf(record)
      const one = path === undefined ? undefined : reads.get(path)
      if (path !== undefined && one === undefined)
        throw new Error(`${record.path} is made of ${path}, which is no record`)
      return one === undefined
        ? []
        : [[record, record.priority === undefined ? one : { ...one, priority: record.priority }] as const]
    }),
  )
}

function pathOf({ target }: Endpoint): string | undefined {
  if (target.kind === 'severalNodes') return target.ofNode
  return target.kind === 'everyNode' ? target.ofAgent : undefined
}

function partOf(parts: ReadonlyMap<Endpoint, Endpoint>, record: Endpoint): Endpoint {
  const part = parts.get(record)
  if (part === undefined) throw new Error(`${record.path} is not joined of parts`)
  return part
}
