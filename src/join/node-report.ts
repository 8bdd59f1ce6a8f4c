import type { NodeContribution } from '../core/events.ts'
import { serializeItem } from '../core/structured-fields.ts'
import type { Fault, Good } from './node-part.ts'

/** The book of one joined answer: which node gave what, how old it is, and what each that failed failed of. */

export interface FailedNode {
  readonly node: string
  readonly error: { readonly code: number; readonly message: string }
}

interface Entry {
  readonly faults: Fault[]
  parts: number
  hits: number
  rtt: number
  rows: number
  total: number
  stale?: string
}

export class Ledger {
  readonly #began: number
  readonly #nodes = new Map<string, Entry>()
  #oldest: number
  #personal = false

  /** `nodes`: in the order in which they are told of; others come behind them. */
  constructor(nodes: readonly string[], began: number) {
    this.#began = began
    this.#oldest = began
    for (const node of nodes) this.#entry(node)
  }

  gave(node: string, part: Good): void {
    const entry = this.#entry(node)
    entry.parts += 1
    if (part.hit) entry.hits += 1
    else entry.rtt = performance.now() - this.#began
    if (part.stale !== undefined) entry.stale = part.stale
    if (part.personal) this.#personal = true
    this.#oldest = Math.min(this.#oldest, part.asOf)
  }

  failed(node: string, fault: Fault): void {
    this.#entry(node).faults.push(fault)
  }

  /** Rows of the node, or of one of its agents, that stand on the page, and of how many that it has. */
  rows(node: string, count: number, total: number): void {
    const entry = this.#entry(node)
    entry.rows += count
    entry.total += total
  }

  /** What failed of the node so far. */
  faultsOf(node: string): readonly Fault[] {
    return this.#nodes.get(node)?.faults ?? []
  }

  /** The first fault of each node that failed. */
  get faults(): readonly { readonly node: string; readonly fault: Fault }[] {
    return [...this.#nodes].flatMap(
      ([
        node,
        {
          faults: [fault],
        },
      ]) => (fault === undefined ? [] : [{ node, fault }]),
    )
  }

  get failedNodes(): readonly FailedNode[] {
    return this.faults.map(({ node, fault: { code, message } }) => ({ node, error: { code, message } }))
  }

  /** Nodes are missing, or stood in with the last that was heard of them, or spoke to this caller alone. */
  get partial(): boolean {
    if (this.#personal) return true
    return [...this.#nodes.values()].some(({ faults, stale }) => faults.length > 0 || stale !== undefined)
  }

  /** Milliseconds for which the oldest part had been kept when the first was asked for. */
  get oldest(): number {
    return Math.max(0, this.#began - this.#oldest)
  }

  /** Did anything come at all? */
  get empty(): boolean {
    return [...this.#nodes.values()].every(({ parts }) => parts === 0)
  }

  get status(): string {
    return clusterStatus(this.#asked.map(([node, entry]) => statusOf(node, entry)))
  }

  /** The same for those who look after the edge. */
  get shares(): readonly NodeContribution[] {
    return this.#asked.map(([node, entry]) => shareOf(node, entry))
  }

  get #asked(): readonly (readonly [string, Entry])[] {
    return [...this.#nodes].filter(([, { parts, faults }]) => parts + faults.length > 0)
  }

  #entry(node: string): Entry {
    const known = this.#nodes.get(node)
    if (known !== undefined) return known
    const entry: Entry = { faults: [], parts: 0, hits: 0, rtt: 0, rows: 0, total: 0 }
    this.#nodes.set(node, entry)
    return entry
  }
}

function statusOf(node: string, { faults: [fault], parts, hits, rtt, rows, stale }: Entry): NodeStatus {
  const hit = parts > 0 && hits === parts
  const answered = fault?.answered
  const detail = answered === undefined ? stale : String(fault?.code)
  return {
    node,
    hit,
    ...(parts > 0 && !hit && { rtt }),
    ...(fault && { error: fault.word }),
    ...(answered && { receivedStatus: answered.status }),
    ...(detail !== undefined && { detail }),
    ...(parts > 0 && { rows }),
  }
}

function shareOf(node: string, { faults: [fault], parts, hits, rtt: ms, rows, total }: Entry): NodeContribution {
  return { node, ...(parts > 0 && { rows, total }), ...(parts > hits && { ms }), ...(fault && { error: fault.word }) }
}

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
