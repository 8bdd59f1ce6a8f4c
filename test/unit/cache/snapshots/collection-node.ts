/** A replica with snapshots in front of a node that has a collection of agents, and counts the calls for it. */

import { collect } from '../../../../packages/simulator/src/data/collect.ts'
import type { ExplainPorts } from '../../../../src/cache/explain.ts'
import { CollectionError, parseCollectionRequest } from '../../../../src/collections/request.ts'
import { sources } from '../../../../src/collections/sources.ts'
import type { Row } from '../../../../src/collections/value.ts'
import type { CacheEvent } from '../../../../src/core/events.ts'
import { cachedOf } from '../../../../src/core/origins.ts'
import {
  bodyOf,
  edgeRequest,
  jsonResponse,
  type ReplicaOptions,
  replica,
  settle,
  success,
} from '../../../support/edge-requests.ts'

export const settings = { groups: ['agents'], maxRows: 100_000, maxBytes: 64 << 20, localBytes: 64 << 20 } as const

/** Returns agents with ids from 001. Every third is `Active`. */
export function agents(count: number): Row[] {
  return Array.from({ length: count }, (_, at) => ({
    id: String(at + 1).padStart(3, '0'),
    name: `agent-${(at * 7919) % count}`,
    status: at % 3 === 0 ? 'Active' : 'Disconnected',
    dateAdd: '2026-01-01 00:00:00',
  }))
}

/** A replica, and what waits for its builds. */
export function buildingReplica(options: ReplicaOptions) {
  let callsBeforeEnd = 0
  const onEvent = (event: CacheEvent) => {
    if (event.kind === 'snapshotBuild') callsBeforeEnd = edge.nodes.calls
    options.onEvent?.(event)
  }
  const edge = replica({ ...options, onEvent })
  const pageLimit = `${options.nodeReads?.().rowsPerCall ?? 1000}`
  const isBuilding = () =>
    edge.nodes.requests
      .slice(callsBeforeEnd)
      .some(({ query, extent }) => extent === 'allRows' || query.limit === pageLimit)
  /** Waits until a build that has started, or starts now, has ended. It takes many turns, and more on a busy core. */
  const settleBuild = async () => {
    for (let round = 0; round < 200 || isBuilding(); round += 1) await settle()
  }
  return { ...edge, settleBuild }
}

export function snapshotReplica(rows: Row[], options: ReplicaOptions = {}) {
  const edge = buildingReplica({ settings: { snapshots: settings }, ...options })
  const node = { rows, onCall: (_query: Readonly<Record<string, string>>) => {} }
  edge.nodes.respond = ({ query, endpoint }) => {
    if (endpoint.method !== 'GET') return success({})
    node.onCall(query)
    try {
      return success(collect(node.rows, parseCollectionRequest(query, new Date()), sources.agents))
    } catch (error) {
      if (error instanceof CollectionError) return jsonResponse({ error: error.code, message: error.message })
      throw error
    }
  }
  /** The response of `GET /agents` as the edge gives it, and what the node itself returns. */
  const get = async (query: Readonly<Record<string, string>>) => {
    const response = await edge.read(edgeRequest('GET /agents', { query }))
    const cached = response.kind === 'envelope' ? cachedOf(response) : undefined
    return { body: bodyOf(response), status: cached?.status, stored: cached }
  }
  const direct = (query: Readonly<Record<string, string>>) =>
    JSON.parse(
      JSON.stringify({ error: 0, data: collect(node.rows, parseCollectionRequest(query, new Date()), sources.agents) }),
    )
  /** Two different queries, and as many as the snapshot takes calls, after which it exists. */
  const warm = async () => {
    const queries = Math.max(2, Math.ceil(node.rows.length / 1000))
    for (let at = 0; at < queries; at += 1) await get({ limit: `${5 + at}` })
    await edge.settleBuild()
  }
  return { ...edge, node, get, direct, warm }
}

/** What explains the URLs of `GET /agents`, and finds their snapshot. */
export function explainPorts({ cache }: ReturnType<typeof snapshotReplica>): ExplainPorts {
  return {
    ...cache.explained,
    catalogue: [],
    isNode: () => false,
    resolveUrl: async (url) =>
      edgeRequest('GET /agents', { query: Object.fromEntries(new URL(url, 'http://edge').searchParams) }),
  }
}
