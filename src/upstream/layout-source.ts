/** Where the layout of a node comes from: the setting, or with `auto` the node itself. */
import type { CallNode, ClusterView, Layout, NodeCall } from '../core/node-call.ts'
import { recogniseLayout } from './layout-probe.ts'
import { Layouts } from './layouts.ts'
import type { NodeRegistry } from './node-registry.ts'
import type { ClusterSettings } from './options.ts'
import type { NodeFailure } from './tokens/login.ts'
import type { Verification } from './tokens/token-calls.ts'
import type { Topology } from './topology.ts'

export interface LayoutSource {
  /** Returns `undefined` for a node whose layout is not recognised yet. */
  of(node: string): Layout | undefined
  readonly view: Pick<ClusterView, 'layoutMixture' | 'confirmLayout'>
  /** Returns the function that sends calls to nodes of known layout only, and observes their responses. */
  wrap(send: CallNode): CallNode
  /** As `wrap`, for checks of credentials: a node that was upgraded meanwhile is asked again in its new layout. */
  wrapVerify(verify: (call: NodeCall) => Promise<Verification>): (call: NodeCall) => Promise<Verification>
  start(): Promise<void>
  /** To be called when nodes or connections have changed. */
  refresh(): void
  /** Asks these nodes now: after a maintenance they may have another layout. */
  ask(nodes: readonly string[]): void
  stop(): void
}

export function createLayoutSource(
  settings: ClusterSettings,
  topology: Topology,
  registry: NodeRegistry,
): LayoutSource {
  const { layout } = settings
  return layout === 'auto' ? recognised(settings, topology, registry) : configured(layout)
}

function configured(layout: Layout): LayoutSource {
  const unchanged = <T>(send: T): T => send
  return {
    of: () => layout,
    view: {},
    wrap: unchanged,
    wrapVerify: unchanged,
    start: async () => {},
    refresh: () => {},
    ask: () => {},
    stop: () => {},
  }
}

function recognised(
  { log, clock, layoutInterval, onLayoutChange, drains }: ClusterSettings,
  topology: Topology,
  registry: NodeRegistry,
): LayoutSource {
  const layouts = new Layouts({
    nodes: () => topology.nodes().flatMap(({ name, addressed }) => (addressed ? [name] : [])),
    master: () => topology.master().name,
    recognise: async (name) => {
      const transport = registry.find(name)?.transport
      return transport === undefined
        ? { ok: false, reason: 'no address is known', sent: true }
        : recogniseLayout(name, transport, clock)
    },
    isDrained: (node) => drains.has(node),
    onChange: onLayoutChange,
    interval: layoutInterval,
    log,
    clock,
  })
  /** Whether the layout decides about the call. The registry rejects other calls by itself. */
  const isCallable = ({ node }: NodeCall) => registry.find(node) !== undefined && !drains.has(node)
  return {
    of: (node) => layouts.of(node),
    view: {
      layoutMixture: () => layouts.mixture(),
      confirmLayout: (node, used, shown) => layouts.confirm(node, used, shown),
    },
    wrapVerify: (verify) => async (call) => {
      const layout = layouts.of(call.node)
      if (layout === undefined && isCallable(call)) return unknownLayout(call, layouts.reasonOf(call.node))
      const result = await verify(call)
      if (result.ok || layout === undefined || result.layout === undefined) return result
      return (await layouts.confirm(call.node, layout, result.layout)) ? verify(call) : result
    },
    wrap: (send) => async (call) => {
      if (layouts.of(call.node) === undefined && isCallable(call)) {
        return unknownLayout(call, layouts.reasonOf(call.node))
      }
      const result = await send(call)
      layouts.observe(call.node, result)
      return result
    },
    start: () => layouts.start(),
    refresh: () => layouts.refresh(),
    ask: (nodes) => layouts.askAgain(nodes),
    stop: () => layouts.stop(),
  }
}

/** Each second the node is asked again. */
const RETRY_AFTER_SECONDS = 1

function unknownLayout({ node }: NodeCall, reason: string): NodeFailure {
  const detail = `the layout of its API is not known yet: ${reason}`
  return { ok: false, node, fault: 'ejected', sent: false, detail, retryAfter: RETRY_AFTER_SECONDS }
}
