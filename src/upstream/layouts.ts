/**
 * The layout of each node's API: that of the settings, or with `cluster.layout: auto` recognised at the start, again at intervals, and at once
 * when a response does not fit. A cluster is upgraded node by node, so nodes may have different layouts for a while.
 */
import type { ClusterView, Layout, LayoutMixture, NodeCall, NodeFailure, NodeResult } from '../core/node-call.ts'
import { withTimeout } from '../core/timing.ts'
import { notSent } from './call.ts'
import { layoutRules } from './dialects/dialect.ts'
import type { Drains } from './drains.ts'
import type { ClusterSettings } from './options.ts'
import type { Recognition } from './probes.ts'

interface LayoutOptions {
  readonly settings: Pick<ClusterSettings, 'layout' | 'onLayoutChange' | 'layoutInterval' | 'log' | 'clock'>
  readonly view: Pick<ClusterView, 'nodes' | 'master'>
  /** The layout of a drained node is not probed and not compared. */
  readonly drains: Pick<Drains, 'has'>
  /** Asks a node. Never rejects. */
  readonly recognise: (node: string) => Promise<Recognition>
}

interface NodeLayout {
  layout?: Layout
  /** Whether the latest call was answered. A node that does not answer may be in the middle of an upgrade. */
  isConfirmed: boolean
  /** Why the layout is not known. */
  reason: string
  askedAt: number
  asking?: Promise<void>
}

/** For a node that did not answer. */
const RETRY_INTERVAL_MS = 1_000
const FIRST_ROUND_MS = 5_000
const NOT_ASKED = 'not asked yet'

/** Retry-After of a call to a node of unknown layout. Each second the node is asked again. */
const RETRY_AFTER_SECONDS = 1

export class Layouts {
  readonly #options: LayoutOptions
  /** Absent: the layout of each node is recognised. */
  readonly #configured: Layout | undefined
  readonly #known = new Map<string, NodeLayout>()
  #mixture: LayoutMixture | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(options: LayoutOptions) {
    this.#options = options
    const { layout } = options.settings
    this.#configured = layout === 'auto' ? undefined : layout
  }

  /** Returns `undefined` if the node has not answered yet. */
  readonly of = (node: string): Layout | undefined => this.#configured ?? this.#known.get(node)?.layout

  /**
   * Returns the failure of a call to a node of unknown layout. The layout decides nothing about a call to a drained node, which
   * is rejected anyway.
   */
  failureOfUnknown(call: NodeCall): NodeFailure | undefined {
    const { node } = call
    if (this.of(node) !== undefined || this.#options.drains.has(node)) return undefined
    const detail = `the layout of its API is not known yet: ${this.#known.get(node)?.reason ?? NOT_ASKED}`
    return notSent(call, { fault: 'ejected', detail, retryAfter: RETRY_AFTER_SECONDS })
  }

  /** Returns the nodes by layout if those that answer have different ones. */
  readonly mixture = (): LayoutMixture | undefined => this.#mixture

  /** Asks all nodes, now and at intervals. Resolves when all have answered, or after five seconds. */
  async start(): Promise<void> {
    if (this.#configured !== undefined) return
    this.#timer = setInterval(() => void this.#askDue(), RETRY_INTERVAL_MS).unref()
    await withTimeout(this.#askDue(), FIRST_ROUND_MS, undefined)
  }

  /** Asks all nodes now, because their addresses or certificates may have changed. */
  refresh(): void {
    for (const known of this.#known.values()) known.askedAt = Number.NEGATIVE_INFINITY
    void this.#askDue()
  }

  /** Asks these nodes now, because they may have been upgraded while they were drained. */
  askAgain(nodes: readonly string[]): void {
    if (this.#configured !== undefined) return
    for (const node of nodes)
      Object.assign(this.#stateOf(node), { isConfirmed: false, askedAt: Number.NEGATIVE_INFINITY })
    this.#updateMixture()
    if (nodes.length > 0) void this.#askDue()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  /**
   * Asks a node again, because a response did not fit the layout `used`. Resolves to whether it has another one. Calls of
   * the same time share the question. A response that did not show its layout (`shown`) leads to at most one in a second.
   */
  readonly confirm = async (node: string, used: Layout, shown?: Layout): Promise<boolean> => {
    if (this.#configured !== undefined) return false
    const known = this.#stateOf(node)
    if (known.layout === used && shown !== used) {
      const isHeldBack = shown === undefined && this.#options.settings.clock() - known.askedAt < RETRY_INTERVAL_MS
      await (known.asking ?? (isHeldBack ? undefined : this.#ask(node, known)))
    }
    return known.layout !== undefined && known.layout !== used
  }

  /** Asks a node again in the background if its response does not fit its layout, or soon if there was none. */
  observe(node: string, result: NodeResult): void {
    const known = this.#known.get(node)
    if (known?.layout === undefined) return
    if (!fits(known.layout, result)) void this.confirm(node, known.layout, result.ok ? undefined : result.layout)
    else if (!result.ok && result.fault === 'unreachable') known.isConfirmed = false
  }

  async #askDue(): Promise<void> {
    if (this.#configured !== undefined) return
    const { clock, layoutInterval } = this.#options.settings
    const names = this.#addressed
    for (const name of this.#known.keys()) if (!names.includes(name)) this.#known.delete(name)
    const due = names.filter((name) => {
      const { isConfirmed, askedAt, asking } = this.#stateOf(name)
      return asking === undefined && clock() - askedAt >= (isConfirmed ? layoutInterval : RETRY_INTERVAL_MS)
    })
    await Promise.all(due.map((name) => this.#ask(name, this.#stateOf(name))))
  }

  get #addressed(): readonly string[] {
    return this.#options.view.nodes().flatMap(({ name, addressed }) => (addressed ? [name] : []))
  }

  #stateOf(node: string): NodeLayout {
    const known = this.#known.get(node)
    if (known !== undefined) return known
    const created = { isConfirmed: false, reason: NOT_ASKED, askedAt: Number.NEGATIVE_INFINITY }
    this.#known.set(node, created)
    return created
  }

  #ask(node: string, known: NodeLayout): Promise<void> {
    if (this.#options.drains.has(node)) return Promise.resolve()
    known.askedAt = this.#options.settings.clock()
    known.asking = this.#options.recognise(node).then((recognised) => {
      delete known.asking
      // A call that the edge held back, because the budget of the node is used up, shows nothing about the node.
      if (recognised.ok || recognised.sent) known.isConfirmed = recognised.ok
      if (recognised.ok) this.#take(node, known, recognised.layout)
      else known.reason = recognised.reason
      this.#updateMixture()
    })
    return known.asking
  }

  #take(node: string, known: NodeLayout, layout: Layout): void {
    const { log, onLayoutChange } = this.#options.settings
    const before = known.layout
    known.layout = layout
    if (before === layout) return
    if (before === undefined) log('info', 'layout of node recognised', { node, layout })
    else {
      log('warn', 'layout of node changed', { node, before, layout })
      this.#askOthers(node)
    }
    const isMaster = node === this.#options.view.master().name
    onLayoutChange({ node, layout, isMaster, ...(before && { before }) })
  }

  /** The nodes of a cluster are upgraded together. What is known of the others is not used for a mixture until they answer. */
  #askOthers(changed: string): void {
    for (const [name, known] of this.#known) {
      if (name === changed || known.layout === undefined) continue
      known.isConfirmed = false
      if (known.asking === undefined) void this.#ask(name, known)
    }
  }

  #updateMixture(): void {
    const { settings, drains } = this.#options
    const inUse = this.#addressed.filter((name) => this.#known.get(name)?.isConfirmed && !drains.has(name))
    const having = (layout: Layout) => inUse.filter((name) => this.of(name) === layout)
    const [classic, newer] = [having('classic'), having('newer')]
    const before = this.#mixture
    this.#mixture = classic.length > 0 && newer.length > 0 ? { classic, newer } : undefined
    if (this.#mixture !== undefined && before === undefined) {
      settings.log('warn', 'nodes have different layouts: writes are refused', { classic, newer })
    } else if (this.#mixture === undefined && before !== undefined)
      settings.log('info', 'nodes have one layout again', {})
  }
}

/**
 * Whether a node of this layout may have answered like this. A failure to answer is no sign of another layout, and a
 * refusal shows the layout: a wrong password leads to no question.
 */
function fits(layout: Layout, result: NodeResult): boolean {
  if (!result.ok) return result.fault !== 'unreadable' && (result.layout ?? layout) === layout
  return layoutRules[layout].mayAnswer(result.response)
}
