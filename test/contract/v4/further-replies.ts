/** Responses that the edge may need besides the recorded one: other calls of the same request. */
import { canonicalCall, type SeenCall } from './calls.ts'
import { affectedOf, failedOf, type V4Exchange } from './exchanges.ts'
import { type FurtherReplies, type Reply, recordedCall } from './expected-calls.ts'
import { WITHOUT_MANAGER } from './oracle-shapes.ts'
import { selected } from './oracle-values.ts'

/** v3 endpoints that need several calls, and the paths of the further ones. */
const furtherPaths: readonly (readonly [RegExp, readonly string[]])[] = [
  [/^GET \/(?:manager|cluster\/:node_id)\/info$/, ['/cluster', '/manager', '/agents']],
  [/^GET \/summary\/agents$|^GET \/agents\/summary$/, ['/agents']],
  [/^GET \/agents\/summary\/os$/, ['/agents/stats/distinct']],
  [/^DELETE \/agents\/groups/, ['/groups', '/agents']],
  [/^DELETE \/agents(?:$|\/:agent_id$)/, ['/agents']],
  [/^GET \/experimental\//, ['/agents']],
  [/^(?:GET|POST|DELETE) \/(?:manager|cluster\/:node_id)\/files$/, ['/rules/files', '/decoders/files', '/lists/files']],
]

/** Creates the replies from what was recorded while the cluster was healthy. */
export function furtherRepliesFrom(exchanges: readonly V4Exchange[]): (exchange: V4Exchange) => FurtherReplies {
  const library = new Map<string, Reply>()
  for (const exchange of exchanges.filter(isHealthy)) {
    for (const key of [keyOf(exchange), ...(isWhole(exchange) ? [keyOf(allRowsOf(exchange))] : [])]) {
      if (!library.has(key)) library.set(key, exchange.response)
    }
  }
  const agents = exchanges.filter(({ request, node }) => request.path === '/agents' && node === 'master')
  const rows = agents.flatMap((exchange) => affectedOf(exchange)?.affected_items ?? []) as AgentRow[]
  return (exchange) => (call, key) => {
    if (call.method !== 'GET') return undefined
    const path = pathOf(call.path)
    const isOwnPath = isSamePath(call, exchange)
    // A refusal of the node does not depend on parameters that the edge evaluates.
    if (isOwnPath && isRefusal(exchange)) return exchange.response
    const [, paths = []] = furtherPaths.find(([pattern]) => pattern.test(exchange.v3)) ?? []
    const isOfManager = call.path.includes('agents_list=000')
    if (path === '/agents' && isOfManager && WITHOUT_MANAGER.has(exchange.user)) return denied(exchanges)
    const isRemoval = exchange.request.method === 'DELETE' && exchange.request.path.startsWith('/agents?')
    if (path === '/agents' && paths.includes(path)) return agentsFor(isRemoval ? [] : rows, call, exchange)
    // The edge filters, sorts and pages where the node cannot: it asks for all rows.
    if (key.includes('limit=100000') || isOwnPath) return library.get(key) ?? sectionFor(exchange, call, library)
    if (!paths.some((known) => path === known || path.startsWith(`${known}/`))) return undefined
    return path.endsWith('/files') ? filesFor(exchange, path) : library.get(key)
  }
}

const isHealthy = ({ response, user, note }: V4Exchange) => response.status === 200 && user === 'wazuh' && note === ''
const keyOf = (exchange: V4Exchange) => canonicalCall(recordedCall(exchange))
const pathOf = (url: string) => url.replace(/\?.*/s, '')

function isSamePath({ path, node }: SeenCall, { request, node: recordedNode }: V4Exchange): boolean {
  return node === recordedNode && pathOf(path) === pathOf(request.path)
}

/** Whether the node refuses the request as a whole: it does not know the agent or the node, or the user may not. */
function isRefusal(exchange: V4Exchange): boolean {
  const codes = failedOf(exchange).map(({ error }) => error.code)
  return exchange.response.status === 403 || codes.includes(1730) || codes.includes(1701)
}

/** Whether the response has all rows of the collection. */
function isWhole(exchange: V4Exchange): boolean {
  const list = affectedOf(exchange)
  if (exchange.request.method !== 'GET' || list === undefined) return false
  const isCut = /[?&](?:limit=(?!500\b)|offset=|sort=|search=|q=)/.test(exchange.request.path)
  // The total of groups of agents is the number of agents.
  const isGrouped = exchange.request.path.startsWith('/agents/stats/distinct')
  return !isCut && (isGrouped || list.affected_items.length === list.total_affected_items)
}

function allRowsOf(exchange: V4Exchange): V4Exchange {
  const { request } = exchange
  const join = request.path.includes('?') ? '&' : '?'
  return { ...exchange, request: { ...request, path: `${request.path}${join}limit=100000` } }
}

function replyOf(items: readonly unknown[]): Reply {
  const data = { affected_items: items, total_affected_items: items.length, total_failed_items: 0, failed_items: [] }
  return {
    status: 200,
    headers: { 'content-type': 'application/json; charset=utf-8' },
    body: JSON.stringify({ data, message: '', error: 0 }),
  }
}

/** What the recorded node answered a user who may not read the agent that the call names. */
function denied(exchanges: readonly V4Exchange[]): Reply | undefined {
  return exchanges.find(({ request, user }) => user === 'only001' && request.path === '/agents?agents_list=002')
    ?.response
}

/** The edge reads a whole section of the configuration and takes the field from it. */
function sectionFor(exchange: V4Exchange, { path }: SeenCall, library: ReadonlyMap<string, Reply>): Reply | undefined {
  const section = new URLSearchParams(path.split('?')[1] ?? '').get('section')
  if (!pathOf(path).endsWith('/configuration') || section === null) return undefined
  const whole = library.get(keyOf({ ...exchange, request: { ...exchange.request, path: pathOf(path) } }))
  const [sections] = affectedOf({ ...exchange, response: whole ?? exchange.response })?.affected_items ?? []
  return replyOf([{ [section]: (sections as Record<string, unknown> | undefined)?.[section] }])
}

/** The list of files with this name: the edge asks in which folder the file is. */
function filesFor({ request, response }: V4Exchange, path: string): Reply {
  const name = decodeURIComponent(pathOf(request.path).split('/').at(-1) ?? '')
  const isThere = response.status === 200 && !(response.body ?? '').includes('"failed_items": [{')
  const folder = name.startsWith('aws-') ? 'etc/lists/amazon' : /^\d{4}-/.test(name) ? `ruleset${path}` : `etc${path}`
  const relative_dirname = folder.replace(/\/files$/, '')
  return replyOf(isThere ? [{ relative_dirname, filename: name, status: 'enabled' }] : [])
}

interface AgentRow {
  readonly id: string
  readonly group?: readonly string[]
}

/** The agents of the recorded list: those that the edge asks for, or those that the recorded call names. */
function agentsFor(rows: readonly AgentRow[], { path }: SeenCall, exchange: V4Exchange): Reply {
  const parameters = new URLSearchParams(path.split('?')[1] ?? '')
  const named = new URLSearchParams(exchange.request.path.split('?')[1] ?? '').get('agents_list')
  const asked = parameters.get('agents_list') ?? named
  const select = parameters.get('select')?.split(',')
  const unique = new Map(rows.map((row) => [row.id, row]))
  const groups = parameters
    .get('q')
    ?.split(',')
    .map((condition) => condition.replace(/^group=/, ''))
  const found = [...unique.values()].filter(
    ({ id, group = [] }) =>
      (asked === null || asked.split(',').includes(id)) && (!groups || groups.some((name) => group.includes(name))),
  )
  return replyOf(found.map((row) => (select === undefined ? row : selected({ ...row }, select))))
}
