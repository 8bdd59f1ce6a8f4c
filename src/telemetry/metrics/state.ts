/** What is read at the moment of a scrape: nodes, what is near, readiness, the build. */
import { Counter, Gauge, type Registry } from '@prometheus-io/client'

export interface NodeFigures {
  readonly name: string
  readonly type: 'master' | 'worker'
  readonly inFlight: number
  readonly limit: number
  readonly queue: number
  /** Calls may be sent to it. */
  readonly available: boolean
  readonly ejected: boolean
}

export interface StatePorts {
  readonly version: string
  ready(): boolean
  nodes(): readonly NodeFigures[]
  /** Absent: nothing is kept. */
  readonly store?: () => { readonly up: boolean; readonly near: { readonly bytes: number; readonly entries: number } }
  /** Lines of the audit, and those that could not be written. */
  audit(): { readonly lines: number; readonly failures: number }
  /** Spans that the collector took, and those that it did not; absent: nothing is traced. */
  spans?(): { readonly sent: number; readonly dropped: number }
  /** The store is Redis. */
  readonly redis: boolean
}

export function stateMetrics(registry: Registry, ports: StatePorts): void {
  const gauge = (name: string, help: string, read: () => number) =>
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(read())
      },
    })
  gauge('edge_ready', '1: requests are welcome.', () => Number(ports.ready()))
  const { store } = ports
  gauge(
    'edge_cache_near_bytes',
    'Bytes of kept answers that this replica holds itself.',
    () => store?.().near.bytes ?? 0,
  )
  gauge('edge_cache_near_entries', 'Kept answers that this replica holds itself.', () => store?.().near.entries ?? 0)
  if (ports.redis && store !== undefined) {
    gauge('edge_redis_up', '0: Redis counts as away, and what it held is not served.', () => Number(store().up))
  }
  const build = new Gauge({
    name: 'edge_build_info',
    help: 'The release that runs.',
    labelNames: ['version'],
    registers: [registry],
  })
  build.set({ version: ports.version }, 1)
  nodeMetrics(registry, ports)
  const counter = (name: string, help: string, read: () => number) =>
    new Counter({
      name,
      help,
      registers: [registry],
      collect() {
        this.reset()
        this.inc(read())
      },
    })
  counter('edge_audit_lines_total', 'Lines written to the audit.', () => ports.audit().lines)
  counter('edge_audit_failures_total', 'Lines of the audit that could not be written.', () => ports.audit().failures)
  const { spans } = ports
  if (spans !== undefined) {
    counter('edge_trace_spans_sent_total', 'Spans that the collector took.', () => spans().sent)
    counter(
      'edge_trace_spans_dropped_total',
      'Spans that it did not take, or that were too many.',
      () => spans().dropped,
    )
  }
}

/** Written anew at each scrape: a node that is gone is not to be seen any more. */
function nodeMetrics(registry: Registry, ports: StatePorts): void {
  const each = (name: string, help: string, read: (node: NodeFigures) => number) =>
    new Gauge({
      name,
      help,
      labelNames: ['node', 'type'],
      registers: [registry],
      collect() {
        this.reset()
        for (const node of ports.nodes()) this.set({ node: node.name, type: node.type }, read(node))
      },
    })
  each('edge_node_in_flight', 'Calls under way on the node.', ({ inFlight }) => inFlight)
  each('edge_node_limit', 'Calls at once that the node is trusted with now.', ({ limit }) => limit)
  each('edge_node_queue', 'Calls in line for the node.', ({ queue }) => queue)
  each('edge_node_available', '1: calls may be sent to it.', ({ available }) => Number(available))
  each('edge_node_ejected', '1: left alone after failures.', ({ ejected }) => Number(ejected))
}
