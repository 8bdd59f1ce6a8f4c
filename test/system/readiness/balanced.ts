/** The shipped HAProxy configuration in front of replicas. Only addresses differ. */
import type { Test } from 'tap'
import { type Simulator, startSimulator } from '../../../packages/simulator/src/index.ts'
import { type Balancer, type BalancerOptions, startHaproxy } from '../../faults/suite/haproxy.ts'
import { type RunningEdge, startEdge } from '../../support/edge.ts'

const PASSWORD = 'only-for-tests'

/** Starts HAProxy in front of these replicas, named edge-1 and edge-2. */
export async function balance(
  t: Test,
  edges: readonly Pick<RunningEdge, 'url' | 'operationsUrl'>[],
  options: BalancerOptions = {},
): Promise<Balancer> {
  const portOf = (url: string) => Number(new URL(url).port)
  const replicas = edges.map(({ url, operationsUrl }) => ({ port: portOf(url), operationsPort: portOf(operationsUrl) }))
  const balancer = await startHaproxy(replicas, options)
  t.teardown(() => balancer.close())
  return balancer
}

interface Cluster {
  readonly simulator: Simulator
  start(options?: { password?: string; nodes?: Simulator['nodes']; settings?: object }): Promise<RunningEdge>
}

export async function cluster(t: Test): Promise<Cluster> {
  const simulator = await startSimulator({ workers: 1, agents: 3, password: PASSWORD })
  t.teardown(() => simulator.close())
  return {
    simulator,
    start: async ({ password = PASSWORD, nodes = simulator.nodes, settings = {} } = {}) => {
      const edge = await startEdge({ nodes, password, settings: { ...settings } })
      t.teardown(() => edge.close())
      return edge
    },
  }
}

const headers = { authorization: `Basic ${Buffer.from('admin:admin-pw').toString('base64')}` }
export const get = (url: string, path: string) => fetch(`${url}${path}`, { headers })
