/**
 * One success and one failure of each endpoint through a whole edge: routes, tokens, connections and the dialect. The
 * replay of all exchanges (replay.test.ts) leaves those parts out.
 */
import t from 'tap'
import { canonicalCall } from './calls.ts'
import { differenceOf } from './check.ts'
import { affectedOf, nameOf, recordedV4, type V4Exchange } from './exchanges.ts'
import type { FurtherReplies, Reply } from './expected-calls.ts'
import { furtherRepliesFrom } from './further-replies.ts'
import { explained } from './known-differences.ts'
import { expectedOf } from './oracle.ts'
import type { V3Request } from './v3-request.ts'
import { isOfEndpoint, urlOf, v3RequestOf } from './v3-requests.ts'
import { startWholeEdge } from './whole-edge.ts'

interface Pair {
  readonly exchange: V4Exchange
  readonly request: V3Request
}

const recorded = recordedV4()

/** The first success and the first failure of each endpoint that the master answered for the edge's own account. */
function samples(): Pair[] {
  const chosen = new Map<string, Pair>()
  for (const exchange of recorded.filter(isOfEndpoint)) {
    const derived = v3RequestOf(exchange)
    if (derived.kind === 'none' || exchange.node !== 'master' || exchange.user !== 'wazuh') continue
    if (explained.has(exchange.line) || isCutOfAllAgents(exchange)) continue
    const request = forAllAgents(derived.request)
    const { kind } = expectedOf(request, exchange)
    if (kind === 'refused') continue
    const key = `${request.endpoint} ${kind === 'error' ? 'error' : 'success'}`
    if (!chosen.has(key)) chosen.set(key, { exchange, request })
  }
  return [...chosen.values()]
}

/** Whether the recorded response has not all rows, as the edge asks for them. */
function isCutOfAllAgents(exchange: V4Exchange): boolean {
  const list = affectedOf(exchange)
  return exchange.v3.startsWith('GET /experimental/') && list?.affected_items.length !== list?.total_affected_items
}

/** The list of agents is the edge's own. */
function forAllAgents(request: V3Request): V3Request {
  const { agent_id: _, ...query } = request.query
  return request.endpoint.startsWith('GET /experimental/') ? { ...request, query } : request
}

/** What the edge asks for itself: the list of nodes, and whether the node accepts its credentials. */
function ownReplies(): Map<string, Reply> {
  const replies = new Map<string, Reply>()
  const own = { '/cluster/nodes': 'GET /cluster/nodes?limit=1000', '/version': 'GET /version' }
  for (const { request, node, user, response } of recorded) {
    const call = Object.entries(own).find(([path]) => path === request.path)?.[1]
    if (call === undefined || node !== 'master' || user !== 'wazuh') continue
    const [method = '', path = ''] = call.split(' ')
    const key = canonicalCall({ node, method, path, body: undefined })
    if (!replies.has(key)) replies.set(key, response)
  }
  return replies
}

/** The edge reads rows of all agents in pages of 1,000, whatever the client asks for. */
function withPages(further: FurtherReplies, { response }: V4Exchange, { endpoint }: V3Request): FurtherReplies {
  if (!endpoint.startsWith('GET /experimental/')) return further
  return (call, canonical) => (call.path.includes('limit=1000&') ? response : further(call, canonical))
}

t.test('samples of all endpoints through a whole edge', async (t) => {
  const edge = await startWholeEdge(ownReplies())
  t.teardown(() => edge.close())
  const furtherReplies = furtherRepliesFrom(recorded)
  const pairs = samples()
  for (const { exchange, request } of pairs) {
    const outcome = await edge.send(request, exchange, withPages(furtherReplies(exchange), exchange, request))
    const name = `${nameOf(exchange)}, asked by ${request.endpoint} ${urlOf(request).slice(0, 80)}`
    t.equal(differenceOf(expectedOf(request, exchange), outcome), undefined, name)
  }
  const endpoints = new Set(pairs.map(({ request }) => request.endpoint))
  t.comment(`${pairs.length} exchanges of ${endpoints.size} endpoints`)
  t.ok(endpoints.size >= 120, `${endpoints.size} endpoints`)
  t.same(edge.unauthorised, [], 'every call has a token')
})
