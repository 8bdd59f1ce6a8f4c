/**
 * Reads of the v4 contract about all agents. A node refuses a call as a whole if one of the agents has never sent data, and
 * names it: the edge asks again for the others.
 */

import type { NodeResult } from '../core/node-call.ts'
import type { EdgeRequest } from '../core/request.ts'
import { ownField, ownText } from '../core/values.ts'
import { createNeededRead, dataIn } from './dialect.ts'
import type { Question } from './lost-nodes.ts'
import { ALL_ROWS, CONNECTED_AGENTS } from './v4/call.ts'
import { agentsWithoutDatabase, readContent } from './v4/content.ts'
import { formatQuery, MAX_LIST_BYTES } from './v4/request-line.ts'

/** How often a call is repeated without the agents that its response has named. Those that never connected are left out at once. */
const MAX_ATTEMPTS = 5

/** Returns the response for the agents that have sent data; `first`, that of all, if none is named or that does not help. */
export async function answerWithData(question: Question<EdgeRequest['query']>, first: NodeResult): Promise<NodeResult> {
  const { request, node, call, ask, remaining } = question
  if (!mayNameAgents(request)) return first
  const left = new Set(await agentsWithoutData(first))
  if (left.size === 0) return first
  const path = `/agents${formatQuery({ ...CONNECTED_AGENTS, limit: ALL_ROWS })}`
  const agents = await call(createNeededRead(request, { node, path, endpoint: '/agents', timeout: remaining() }))
  const items = ownField(dataIn(agents), 'affected_items')
  const ids = Array.isArray(items) ? items.flatMap((item) => ownText(item, 'id') ?? []) : []
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const named = ids.filter((id) => !left.has(id)).sort()
    const list = named.join(',')
    const isOver = (remaining() ?? Number.POSITIVE_INFINITY) <= 0
    if (named.length === 0 || list.length > MAX_LIST_BYTES || isOver) return first
    const result = await ask({ ...request.query, agents_list: list })
    const further = await agentsWithoutData(result)
    if (further.size === 0) return result
    if ([...further].every((id) => left.has(id))) return first
    for (const id of further) left.add(id)
  }
  return first
}

function mayNameAgents({ endpoint, query }: EdgeRequest): boolean {
  return endpoint.method === 'GET' && Object.hasOwn(endpoint.query, 'agents_list') && query.agents_list === undefined
}

/** Returns the agents because of which the node answered nothing. */
async function agentsWithoutData(result: NodeResult): Promise<ReadonlySet<string>> {
  if (!result.ok || result.response.status !== 400 || !Buffer.isBuffer(result.response.body)) return new Set()
  return agentsWithoutDatabase(await readContent(result.response))
}
