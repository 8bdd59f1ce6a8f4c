/** Rows of the tables of the Nodes view, for the export. */
import type { JoinedResponse, NodeSummary, ReportedReplica } from '../../server/node-types.ts'
import type { ExportRow } from '../export.ts'

export function nodeRowOf(node: NodeSummary): ExportRow {
  const { name, type, version, layout, state, inFlight, limit, slots, queue, budget } = node
  const { p50, p99, calls, failed, errorResponses, lastFailure, drain } = node
  return {
    node: name,
    type,
    version,
    layout,
    state,
    inFlight,
    limit,
    slots,
    queued: queue,
    callsLastMinute: budget?.used,
    callsPerMinuteLimit: budget?.limit,
    p50Ms: p50,
    p99Ms: p99,
    calls,
    failed,
    errorResponses,
    lastFailure: lastFailure && `${lastFailure.fault}: ${lastFailure.detail}`,
    lastFailureAgoMs: lastFailure?.ago,
    drainedBy: drain?.by,
    drainReason: drain?.reason,
    drainEndsInMs: drain?.endsIn,
  }
}

type Replica = Pick<ReportedReplica, 'name' | 'version' | 'ready' | 'rates' | 'nodes'> & { readonly ago?: number }

export function replicaRowOf({ name, version, ready, rates, nodes, ago }: Replica): ExportRow {
  return {
    replica: name,
    version,
    ready,
    requestsPerSecond: rates.perSecond,
    hitRatio: rates.hitRatio,
    p99Ms: rates.p99,
    callsPerSecond: rates.callsPerSecond,
    nodes: nodes.map((node) => `${node.name}:${node.state}:${node.inFlight}/${node.limit}`),
    lastSeenAgoMs: ago ?? 0,
  }
}

/** Returns one row for each node of the response. */
export function joinedRowsOf(response: JoinedResponse & { readonly replica: string }): readonly ExportRow[] {
  const { ago, replica, route: endpoint, ms: durationMs, nodes } = response
  return nodes.map(({ node, rows, total, ms, error }) => ({
    endpoint,
    replica,
    agoMs: ago,
    durationMs,
    node,
    rows,
    total,
    nodeMs: ms,
    error,
  }))
}
