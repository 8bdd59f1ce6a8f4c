/** Calls to the nodes. What was never sent is no call: it is counted as refused. */
import { Counter, Histogram, type Registry } from '@prometheus-io/client'
import type { NodeCallEvent } from '../../core/events.ts'

const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120]
/** Why a call is not sent. */
const REASONS = ['overloaded', 'ejected', 'cancelled'] as const
const WAITS = [0.001, 0.01, 0.1, 0.5, 1, 5, 20]

export function callMetrics(registry: Registry): (event: NodeCallEvent) => void {
  const registers = [registry]
  const duration = new Histogram({
    name: 'http_client_request_duration_seconds',
    help: 'Duration of HTTP client requests: calls to nodes, without the time that they waited in line.',
    labelNames: ['http_request_method', 'url_template', 'server_address', 'http_response_status_code', 'error_type'],
    buckets: BUCKETS,
    registers,
  })
  const waits = new Histogram({
    name: 'edge_node_wait_duration_seconds',
    help: 'Time that calls waited for a place on their node.',
    labelNames: ['node'],
    buckets: WAITS,
    registers,
  })
  const refused = new Counter({
    name: 'edge_node_refused_total',
    help: 'Calls that were not sent: the node is at its limit, left alone after failures, or nobody waits any more.',
    labelNames: ['node', 'reason'],
    registers,
  })
  const known = new Set<string>()
  return ({ node, method, route, status, fault, ms, queueTime: waited }) => {
    if (!known.has(node)) {
      known.add(node)
      for (const reason of REASONS) refused.inc({ node, reason }, 0)
    }
    waits.observe({ node }, waited / 1000)
    if (fault === 'overloaded' || fault === 'ejected' || (fault === 'cancelled' && ms === 0)) {
      refused.inc({ node, reason: fault })
      return
    }
    duration.observe(
      {
        http_request_method: method,
        url_template: route,
        server_address: node,
        http_response_status_code: status ?? '',
        error_type: fault ?? '',
      },
      ms / 1000,
    )
  }
}
