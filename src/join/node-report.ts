/** The node report of a joined response: what each node contributed, how old it is, and why nodes failed. */
import { OUTAGE, WITHOUT_REDIS } from '../core/cache.ts'
import type { ErrorCode } from '../core/errors.ts'
import type { NodeContribution } from '../core/events.ts'
import { NO_PARTS } from '../core/origins.ts'
import { type Coverage, formatCoverage, type JoinedOrigin, type MadeOfParts } from '../core/response.ts'
import { formatClusterStatus, type NodeEntry } from './cluster-status.ts'
import type { PartError, ReceivedPart } from './node-part.ts'

/** A member of `failed_nodes`. */
interface FailedNode {
  readonly node: string
  readonly error: { readonly code: number; readonly message: string }
}

export class NodeReport {
  readonly #startedAt: number
  readonly #hasRows: boolean
  readonly #nodes = new Map<string, NodeEntry>()
  #oldest: number
  /**
   * How long the stored parts were still fresh when they were added, in milliseconds; Infinity if no part may be stored. The
   * time that other parts take afterwards does not count: hundreds of agents may take longer than a part is fresh.
   */
  #freshFor = Number.POSITIVE_INFINITY
  #isUnstorable = false
  #mark: MadeOfParts['mark']
  /** Set if the rows of some agents would cost too many calls. Absent: all agents are covered, except those of failed nodes. */
  coverage: Coverage | undefined

  /** `nodes`: in the order of the report; others follow. `startedAt`: by performance.now(). `hasRows`: whether nodes return rows. */
  constructor(nodes: readonly string[], startedAt: number, hasRows = true) {
    this.#startedAt = startedAt
    this.#hasRows = hasRows
    this.#oldest = startedAt
    for (const node of nodes) this.#entryOf(node)
  }

  addPart(node: string, part: ReceivedPart): void {
    const entry = this.#entryOf(node)
    entry.parts += 1
    if (part.isHit) entry.hits += 1
    else entry.rtt = performance.now() - this.#startedAt
    if (part.stale !== undefined) entry.stale = part.stale
    // Only reads that are marked as without Redis may be older than an acknowledged write.
    if (part.stale === WITHOUT_REDIS || (part.stale === OUTAGE && this.#mark === undefined)) this.#mark = part.stale
    if (part.isUnstorable) this.#isUnstorable = true
    this.#oldest = Math.min(this.#oldest, part.asOf)
    this.#freshFor = Math.min(this.#freshFor, part.freshUntil - performance.now())
  }

  addError(node: string, error: PartError): void {
    this.#entryOf(node).errors.push(error)
  }

  /** Adds rows of a node, or of one of its agents: how many are on the page, and how many exist. */
  addRows(node: string, count: number, total: number): void {
    const entry = this.#entryOf(node)
    entry.rows = (entry.rows ?? 0) + count
    entry.total += total
  }

  setDetail(node: string, detail: string): void {
    this.#entryOf(node).detail = detail
  }

  errorsOf(node: string): readonly PartError[] {
    return this.#nodes.get(node)?.errors ?? []
  }

  /** The first error of the first failed node. */
  get firstError(): PartError | undefined {
    for (const { errors } of this.#nodes.values()) if (errors.length > 0) return errors[0]
    return undefined
  }

  /** The members of `data` beside the rows and their number. */
  get members(): { readonly failed_nodes?: readonly FailedNode[]; readonly covered_agents?: Coverage } {
    const failed: FailedNode[] = []
    for (const [node, { errors }] of this.#nodes) {
      const [first] = errors
      if (first !== undefined) failed.push({ node, error: { code: first.code, message: first.message } })
    }
    return {
      ...(failed.length > 0 && { failed_nodes: failed }),
      ...(this.coverage && { covered_agents: this.coverage }),
    }
  }

  get madeOf(): MadeOfParts {
    return {
      clusterStatus: this.clusterStatus,
      completeness: this.#completeness,
      oldestPartAge: Math.max(0, this.#startedAt - this.#oldest),
      partsFreshFor: this.#freshFor,
      mark: this.#mark,
    }
  }

  /**
   * `partial`: nodes are missing that may answer another time, a stale response replaces one, or a part must not be
   * stored. `cut`: agents are not covered. `knownGaps`: rows are missing that no node can return.
   */
  get #completeness(): MadeOfParts['completeness'] {
    let hasGaps = false
    for (const { errors, stale } of this.#nodes.values()) {
      if (stale !== undefined || !errors.every(isKnownGap)) return 'partial'
      hasGaps ||= errors.length > 0
    }
    if (this.#isUnstorable) return 'partial'
    if (this.coverage !== undefined) return 'cut'
    return hasGaps ? 'knownGaps' : 'complete'
  }

  /** Parts that did not come from the cache. */
  get fetchedParts(): number {
    return [...this.#nodes.values()].reduce((sum, { parts, hits }) => sum + parts - hits, 0)
  }

  /** Whether a node failed, and none contributed: each failed or returned no part. */
  get hasOnlyFailures(): boolean {
    const entries = [...this.#nodes.values()]
    const isFailed = ({ errors }: NodeEntry) => errors.length > 0
    return entries.some(isFailed) && entries.every((entry) => isFailed(entry) || entry.parts === 0)
  }

  /** The value of the header `Cluster-Status`. */
  get clusterStatus(): string {
    const { coverage } = this
    const nodes = formatClusterStatus([...this.#nodes].filter(isInvolved))
    if (coverage === undefined) return nodes
    return nodes === '' ? formatCoverage(coverage) : `${nodes}, ${formatCoverage(coverage)}`
  }

  /** Returns what the header states of these nodes, for the console. */
  contributionsOf(nodes: readonly string[]): readonly NodeContribution[] {
    const contributions: NodeContribution[] = []
    for (const each of this.#nodes)
      if (nodes.includes(each[0]) && isInvolved(each)) contributions.push(toContribution(each))
    return contributions
  }

  #entryOf(node: string): NodeEntry {
    const known = this.#nodes.get(node)
    if (known !== undefined) return known
    const entry: NodeEntry = { errors: [], parts: 0, hits: 0, rtt: 0, rows: this.#hasRows ? 0 : undefined, total: 0 }
    this.#nodes.set(node, entry)
    return entry
  }
}

/** The rows of agent `000` of a worker cannot be requested through the master: another request would lack them too. */
const ROWS_NOT_REQUESTABLE: ErrorCode = 935

function isKnownGap({ code }: PartError): boolean {
  return code === ROWS_NOT_REQUESTABLE
}

function isInvolved([, { parts, errors }]: readonly [string, NodeEntry]): boolean {
  return parts + errors.length > 0
}

function toContribution([node, entry]: readonly [string, NodeEntry]): NodeContribution {
  const { parts, hits, rtt, rows, total } = entry
  const [error] = entry.errors
  return {
    node,
    ...(parts > 0 && rows !== undefined && { rows, total }),
    ...(parts > hits && { ms: rtt }),
    ...(error && { error: error.proxyError, errorKind: errorKindOf(error) }),
  }
}

function errorKindOf(error: PartError): NonNullable<NodeContribution['errorKind']> {
  if (isKnownGap(error)) return 'knownLimit'
  return error.response === undefined ? 'failed' : 'answered'
}

/** Returns the origin of an error of all nodes, and of the response to a write that one node gives for all. */
export function originWith(clusterStatus: string): JoinedOrigin {
  return { ...NO_PARTS, kind: 'joined', clusterStatus, isUnfinished: false }
}
