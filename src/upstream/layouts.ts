/**
 * The layout of each node's API: that of the settings, or with `cluster.layout: auto` recognised at the start, again at intervals, and at once
 * when a response does not fit. A cluster is upgraded node by node, so nodes may have different layouts for a while.
 */
import type { ClusterView, Layout, LayoutMixture } from '../core/node-call.ts'
import type { DrainedNodes } from './drains.ts'
import type { NodeHealth } from './failure/health.ts'
import type { ClusterSettings } from './options.ts'
import type { Probe } from './probes.ts'

/** What is known of the layout of a node. */
export interface LayoutState {
  value: Layout | undefined
  /** Whether the latest question was answered. */
  isConfirmed: boolean
  /** Why the layout is not known. */
  reason: string
  askedAt: number
  asking?: Promise<void>
}

interface LayoutNode {
  readonly name: string
  readonly layout: LayoutState
  readonly health: Pick<NodeHealth, 'ejection' | 'contact'>
  /** Asks the node, and passes on the answer with `note`. Never rejects. */
  recognise(): Promise<unknown>
}

interface LayoutOptions {
  readonly settings: Pick<ClusterSettings, 'layout' | 'onLayoutChange' | 'layoutInterval' | 'log' | 'clock'>
  /** The nodes with an address, by name. */
  readonly nodes: ReadonlyMap<string, LayoutNode>
  readonly view: Pick<ClusterView, 'nodes' | 'master'>
  /** The layout of a drained node is not probed and not compared. */
  readonly drained: DrainedNodes
}

/** For a node whose layout is not certain. */
const RETRY_INTERVAL_MS = 1_000

/** `layout`: that of the settings; `auto`: it is recognised. */
export function createLayoutState(layout: Layout | 'auto'): LayoutState {
  const value = layout === 'auto' ? undefined : layout
  return { value, isConfirmed: false, reason: 'not asked yet', askedAt: Number.NEGATIVE_INFINITY }
}

export class Layouts {
  readonly #options: LayoutOptions
  readonly #isConfigured: boolean
  /** The nodes by layout if those that answer have different ones. */
  mixture: LayoutMixture | undefined

  constructor(options: LayoutOptions) {
    this.#options = options
    this.#isConfigured = options.settings.layout !== 'auto'
  }

  /** Asks all nodes now, because their addresses or certificates may have changed. */
  refresh(): void {
    for (const { layout } of this.#options.nodes.values()) layout.askedAt = Number.NEGATIVE_INFINITY
    void this.askDue()
  }

  /** To be called when drains have changed. Asks nodes that are put back now, because they may have been upgraded. */
  updateDrains(putBack: readonly string[]): void {
    if (this.#isConfigured) return
    for (const name of putBack) {
      const state = this.#options.nodes.get(name)?.layout
      if (state) Object.assign(state, { isConfirmed: false, askedAt: Number.NEGATIVE_INFINITY })
    }
    this.#updateMixture()
    if (putBack.length > 0) void this.askDue()
  }

  /**
   * Asks a node again, because a response did not fit the layout `used`. Resolves to whether it has another one. Calls of
   * the same time share the question. A response that did not show its layout (`shown`) leads to at most one in a second.
   */
  readonly confirm = async (name: string, used: Layout, shown?: Layout): Promise<boolean> => {
    const node = this.#options.nodes.get(name)
    if (node === undefined) return false
    const { layout } = node
    if (layout.value === used && shown !== used) {
      const isHeldBack = shown === undefined && this.#options.settings.clock() - layout.askedAt < RETRY_INTERVAL_MS
      await (layout.asking ?? (isHeldBack ? undefined : this.#ask(node)))
    }
    return layout.value !== undefined && layout.value !== used
  }

  /** Asks the nodes that are due. Resolves when those that are asked, now or already, have answered. */
  async askDue(): Promise<void> {
    if (this.#isConfigured) return
    const nodes = [...this.#options.nodes.values()]
    // A node that does not answer may be in the middle of an upgrade.
    for (const { layout, health } of nodes) if (health.contact.failingSince !== undefined) layout.isConfirmed = false
    this.#updateMixture()
    await Promise.all(nodes.map((node) => node.layout.asking ?? (this.#isDue(node) ? this.#ask(node) : undefined)))
  }

  /**
   * Each response shows whether the layout is still the same, so the node is asked only if there was none for long. Whether a
   * node that fails answers again, the probes of `ejection.ts` and `node-contacts.ts` show.
   */
  #isDue({ layout: { isConfirmed, askedAt }, health: { ejection, contact } }: LayoutNode): boolean {
    if (!ejection.isAdmitting || contact.failingSince !== undefined) return false
    const { clock, layoutInterval } = this.#options.settings
    if (!isConfirmed) return clock() - askedAt >= RETRY_INTERVAL_MS
    return clock() - Math.max(askedAt, contact.calledAt ?? askedAt) >= layoutInterval
  }

  async #ask(node: LayoutNode): Promise<void> {
    const { name, layout } = node
    const { drained, settings } = this.#options
    if (drained.has(name)) return
    layout.askedAt = settings.clock()
    layout.asking = node.recognise().then(() => void delete layout.asking)
    await layout.asking
  }

  /** Takes what a probe of the node has shown. */
  note(name: string, { outcome, layout, reason }: Probe): void {
    const node = this.#options.nodes.get(name)
    if (this.#isConfigured || node === undefined) return
    // A call that the edge held back, because the budget of the node is used up, shows nothing about the node.
    if (outcome !== 'notSent') node.layout.isConfirmed = layout !== undefined
    if (layout !== undefined) this.#take(node, layout)
    else node.layout.reason = reason
    this.#updateMixture()
  }

  #take(node: LayoutNode, layout: Layout): void {
    const { name, layout: state } = node
    const { log, onLayoutChange } = this.#options.settings
    const before = state.value
    state.value = layout
    if (before === layout) return
    if (before === undefined) log('info', 'layout of node recognised', { node: name, layout })
    else {
      log('warn', 'layout of node changed', { node: name, before, layout })
      this.#askOthers(node)
    }
    const isMaster = name === this.#options.view.master().name
    onLayoutChange({ node: name, layout, isMaster, ...(before && { before }) })
  }

  /** The nodes of a cluster are upgraded together. What is known of the others is not used for a mixture until they answer. */
  #askOthers(changed: LayoutNode): void {
    for (const node of this.#options.nodes.values()) {
      if (node === changed || node.layout.value === undefined) continue
      node.layout.isConfirmed = false
      if (node.layout.asking === undefined) void this.#ask(node)
    }
  }

  #updateMixture(): void {
    const { settings, drained, nodes, view } = this.#options
    const inUse = view.nodes().filter(({ name }) => nodes.get(name)?.layout.isConfirmed && !drained.has(name))
    const having = (layout: Layout) =>
      inUse.flatMap(({ name }) => (nodes.get(name)?.layout.value === layout ? [name] : []))
    const [v3, v4] = [having('v3'), having('v4')]
    const before = this.mixture
    this.mixture = v3.length > 0 && v4.length > 0 ? { v3, v4 } : undefined
    if (this.mixture !== undefined && before === undefined) {
      settings.log('warn', 'nodes have different layouts: writes are refused', { v3, v4 })
    } else if (this.mixture === undefined && before !== undefined)
      settings.log('info', 'nodes have one layout again', {})
  }
}
