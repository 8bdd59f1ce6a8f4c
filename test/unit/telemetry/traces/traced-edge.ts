/** An edge with traces on, a simulated cluster and a collector. */
import type { Test } from 'tap'
import type { SimulatorOptions } from '../../../../packages/simulator/src/index.ts'
import { simulated } from '../../../support/simulated.ts'
import { startCollector } from './collector.ts'

interface TracedEdgeOptions {
  readonly cluster?: SimulatorOptions
  readonly traces?: object
  readonly settings?: Readonly<Record<string, unknown>>
}

export async function tracedEdge(
  t: Test,
  { cluster = { workers: 2, agents: 6 }, traces, settings }: TracedEdgeOptions = {},
) {
  const collector = await startCollector(t)
  const { simulator, edge } = await simulated(t, cluster, {
    settings: { traces: { endpoint: collector.url, sampleRatio: 1, maxPerSecond: 10_000, ...traces }, ...settings },
  })
  const ask = async (path: string, { user = 'admin', ...init }: RequestInit & { user?: string } = {}) => {
    const headers = { authorization: edge.authorization(user), ...init.headers }
    const response = await fetch(edge.url + path, { ...init, headers })
    const text = await response.text()
    const requestId = response.headers.get('x-request-id') ?? ''
    return {
      status: response.status,
      text,
      headers: response.headers,
      requestId,
      traceId: requestId.replaceAll('-', ''),
    }
  }
  /** Headers of the calls that nodes receive from now on. */
  const nodeHeaders = () => {
    const from = simulator.seen.length
    return () => simulator.seen.slice(from).map(({ node, headers }) => ({ node, headers }))
  }
  return { collector, simulator, edge, ask, nodeHeaders }
}
