/** The header `Cluster-Status`. */

/** One member of `Cluster-Status`. */
export interface NodeOutcome {
  readonly node: string
  /** Everything came from the cache; otherwise `rtt` is the time that the node took. */
  readonly isHit: boolean
  /** Milliseconds. */
  readonly rtt?: number
  readonly detail?: string
  /** An error type of RFC 9209. */
  readonly error?: string
  readonly receivedStatus?: number
  /** Rows on this page, or agents of a write that the node has carried out; absent if the node did nothing. */
  readonly rows?: number
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
export function formatClusterStatus(nodes: readonly NodeOutcome[]): string {
  let text = ''
  for (const [at, node] of nodes.entries()) {
    const next = `${at === 0 ? '' : ', '}${formatMember(node)}`
    if (text.length + next.length > MAX_CLUSTER_STATUS_CHARACTERS) return `${text}, *;omitted=${nodes.length - at}`
    text += next
  }
  return text
}

function formatMember({ node, isHit, rtt, detail, error, receivedStatus, rows }: NodeOutcome): string {
  let text = serializeItem(node)
  if (isHit) text += ';hit'
  if (rtt !== undefined) text += `;rtt=${Math.max(0, Math.round(rtt))}`
  if (error !== undefined) text += `;error=${error}`
  if (receivedStatus !== undefined) text += `;received-status=${receivedStatus}`
  if (detail !== undefined) text += `;detail=${serializeItem(detail)}`
  if (rows !== undefined) text += `;rows=${rows}`
  return text
}

/** RFC 9651 section 3.3.4: a token begins with a letter or an asterisk. */
const TOKEN = /^[A-Za-z*][A-Za-z0-9!#$%&'*+.^_`|~:/-]*$/

/**
 * Serialises an item of a structured field (RFC 9651): as a token if the text is one, else as a quoted string. A string
 * holds printable ASCII only (section 3.3.3), so every other UTF-16 unit becomes `?`.
 */
export function serializeItem(text: string): string {
  return TOKEN.test(text) ? text : `"${text.replaceAll(/[^\x20-\x7e]/g, '?').replaceAll(/["\\]/g, '\\$&')}"`
}
