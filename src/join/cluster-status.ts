import { serializeItem } from '../core/structured-fields.ts'

/**
 * `Cluster-Status`: what each node had to say to a joined answer, as a List of RFC 9651 with one member for each node.
 * Words of RFC 9211 (`hit`, `detail`) and of RFC 9209 (`error`, `received-status`); `rtt` in milliseconds, `rows` on
 * this page.
 *
 * Nodes that it would be too long for are counted in a last member, whose name no node can have: `*;omitted=3`.
 *
 * @example master;rtt=12;rows=40, worker-1;error=connection_refused, worker-2;hit;rows=3
 */
export interface NodeStatus {
  readonly node: string
  /** All that it gave was kept; else `rtt` says how long it took. */
  readonly hit: boolean
  readonly rtt?: number
  readonly detail?: string
  /** A token. */
  readonly error?: string
  readonly receivedStatus?: number
  /** Absent: it gave none, since it failed. */
  readonly rows?: number
}

export function clusterStatus(nodes: readonly NodeStatus[]): string {
  let text = ''
  for (const [at, node] of nodes.entries()) {
    const next = `${at === 0 ? '' : ', '}${member(node)}`
    if (text.length + next.length > LONGEST) return `${text}, *;omitted=${nodes.length - at}`
    text += next
  }
  return text
}

/** Clients and load balancers take 16 kB of head in all. Who failed stands in `failed_nodes` whatever their number. */
const LONGEST = 12_000

function member({ node, hit, rtt, detail, error, receivedStatus, rows }: NodeStatus): string {
  let text = serializeItem(node)
  if (hit) text += ';hit'
  if (rtt !== undefined) text += `;rtt=${Math.max(0, Math.round(rtt))}`
  if (error !== undefined) text += `;error=${error}`
  if (receivedStatus !== undefined) text += `;received-status=${receivedStatus}`
  if (detail !== undefined) text += `;detail=${serializeItem(detail)}`
  if (rows !== undefined) text += `;rows=${rows}`
  return text
}
