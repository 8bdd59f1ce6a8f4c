/** Starts an edge in front of a simulated cluster, as most journeys do. */
import type { Test } from 'tap'
import { type Simulator, type SimulatorOptions, startSimulator } from '../../packages/simulator/src/index.ts'
import { type EdgeUnderTest, type RunningEdge, startEdge } from './edge.ts'

const PASSWORD = 'only-for-tests'

/** Closes both at the end of the test, the edge first. */
export async function simulated(
  t: Pick<Test, 'teardown'>,
  world: SimulatorOptions,
  edgeOptions: Pick<EdgeUnderTest, 'settings' | 'reloads' | 'times'> = {},
): Promise<{ readonly simulator: Simulator; readonly edge: RunningEdge }> {
  const simulator = await startSimulator({ ...world, password: PASSWORD })
  t.teardown(() => simulator.close())
  const edge = await startEdge({ ...edgeOptions, nodes: simulator.nodes, password: PASSWORD })
  t.teardown(() => edge.close())
  return { simulator, edge }
}
