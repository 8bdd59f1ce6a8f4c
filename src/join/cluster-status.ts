/** The header `Cluster-Status`. */
import { type CacheDetail, formatDetail } from '../core/cache.ts'
import type { PartError } from './node-part.ts'

/** What one node contributed to a joined response, and why it failed. */
export interface NodeEntry {
  readonly errors: PartError[]
  parts: number
  hits: number
  /** Milliseconds until the last part that did not come from the cache. */
  rtt: number
  /** Rows on this page, or agents of a write that the node has carried out; absent if the report counts none. */
  rows: number | undefined
  total: number
  stale?: CacheDetail
  detail?: string
}

/** Clients and load balancers accept 16 kB of headers. `failed_nodes` names every failed node regardless of this limit. */
const MAX_CLUSTER_STATUS_CHARACTERS = 12_000

/**
 * Returns the value of `Cluster-Status`: a List of RFC 9651 with one member per node, with parameters of RFC 9211 (`hit`,
 * `detail`) and RFC 9209 (`error`, `received-status`), `rtt` in milliseconds and `rows` on this page. Nodes beyond the
 * maximum length are counted in a last member whose name no node can have: `*;omitted=3`. Such a member also says how many agents
 * an incomplete response covers: `*;agents=16;all-agents=3000`.
 *
 * @example master;rtt=12;rows=40, worker-1;error=connection_refused, worker-2;hit;rows=3
 */
export function formatClusterStatus(nodes: readonly (readonly [string, NodeEntry])[]): string {
  let text = ''
  for (const [at, [node, entry]] of nodes.entries()) {
    const next = `${at === 0 ? '' : ', '}${formatMember(node, entry)}`
    if (text.length + next.length > MAX_CLUSTER_STATUS_CHARACTERS) return `${text}, *;omitted=${nodes.length - at}`
    text += next
  }
  return text
}

function formatMember(node: string, { errors: [error], parts, hits, rtt, rows, stale, detail }: NodeEntry): string {
  let text = serializeItem(node)
  if (parts > 0) text += hits === parts ? ';hit' : `;rtt=${Math.max(0, Math.round(rtt))}`
  if (error !== undefined) text += `;error=${error.proxyError}`
  if (error?.response !== undefined) text += `;received-status=${error.response.status}`
  const shown = error?.response === undefined ? (detail ?? (stale && formatDetail(stale))) : String(error.code)
  if (shown !== undefined) text += `;detail=${serializeItem(shown)}`
  if (parts > 0 && rows !== undefined) text += `;rows=${rows}`
  return text
}

/** RFC 9651 section 3.3.4: a token begins with a letter or an asterisk. */
const TOKEN = /^[A-Za-z*][A-Za-z0-9!#$%&'*+.^_`|~:/-]*$/

/**
 * Serialises an item of a structured field (RFC 9651): as a token if the text is one, else as a quoted string. A string
 * holds printable ASCII only (section 3.3.3), so every other UTF-16 unit becomes `?`.
 */
function serializeItem(text: string): string {
  return TOKEN.test(text) ? text : `"${text.replaceAll(/[^\x20-\x7e]/g, '?').replaceAll(/["\\]/g, '\\$&')}"`
}
