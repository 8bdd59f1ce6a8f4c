/** Responses that the edge may need besides the recorded one: other calls of the same request. */
import type { NodeCall } from '../../../src/core/node-call.ts'
import { type FurtherReplies, keyOf, type Reply } from './classic-master.ts'
import { affectedOf, type NewerExchange } from './exchanges.ts'

/** Classic endpoints that need several calls, and the paths of the further ones. */
const furtherPaths: readonly (readonly [RegExp, readonly string[]])[] = [
  [
    /^GET \/(?:manager|cluster\/:node_id)\/info$/,
    ['/cluster/status', '/cluster/local/info', '/cluster/nodes', '/agents', '/cluster/local/config'],
  ],
  [/^GET \/summary\/agents$/, ['/agents']],
  [/^DELETE \/agents\/groups/, ['/groups', '/agents']],
  [/^GET \/experimental\//, ['/agents']],
]

/** Creates the replies from what was recorded while the cluster was healthy. */
export function furtherRepliesFrom(exchanges: readonly NewerExchange[]): (exchange: NewerExchange) => FurtherReplies {
  const library = new Map<string, Reply>()
  for (const exchange of exchanges) {
    const { response, user, note } = exchange
    if (response.status === 200 && user === 'wazuh' && note === '' && !library.has(keyOf(exchange))) {
      library.set(keyOf(exchange), response)
    }
  }
  const agents = exchanges.filter(({ request, node }) => request.path === '/agents' && node === 'master')
  const rows = agents.flatMap((exchange) => affectedOf(exchange)?.affected_items ?? []) as AgentRow[]
  return (exchange) => (call, key) => {
    const [, paths = []] = furtherPaths.find(([pattern]) => pattern.test(exchange.classic)) ?? []
    const path = call.path.replace(/\?.*/s, '')
    if (call.method !== 'GET' || !paths.some((known) => path === known || path.startsWith(`${known}/`)))
      return undefined
    return path === '/agents' ? listOf(rows, call, exchange) : library.get(key)
  }
}

interface AgentRow {
  readonly id: string
  readonly status: string
}

/** The agents of the recorded list: those that the recorded call names, or those that the edge asks for. */
function listOf(rows: readonly AgentRow[], { path }: NodeCall, exchange: NewerExchange): Reply {
  const parameters = new URLSearchParams(path.split('?')[1] ?? '')
  const named = new URLSearchParams(exchange.request.path.split('?')[1] ?? '').get('agents_list')
  const asked = parameters.get('agents_list') ?? named
  const select = parameters.get('select')?.split(',')
  const unique = new Map(rows.map((row) => [row.id, row]))
  const found = [...unique.values()].filter(({ id }) => asked === null || asked.split(',').includes(id))
  const items = found.map((row) =>
    select === undefined ? row : Object.fromEntries(Object.entries(row).filter(([name]) => select.includes(name))),
  )
  const data = { affected_items: items, total_affected_items: items.length, total_failed_items: 0, failed_items: [] }
  return {
    status: 200,
    headers: { 'content-type': 'application/json; charset=utf-8' },
    body: JSON.stringify({ data, message: '', error: 0 }),
  }
}
