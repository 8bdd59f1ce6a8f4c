/** A simulated cluster with the capacity of a real one, in a separate process. */
import { type Load, type SimulatorOptions, startSimulator } from '../../../src/simulator/index.ts'

/** The load of each node since the start. */
export type ClusterReport = Readonly<Record<string, Load>>
export interface ClusterReady {
  readonly nodes: readonly { readonly name: string; readonly type: 'master' | 'worker'; readonly url: string }[]
}

const options = JSON.parse(process.argv[2] ?? '{}') as SimulatorOptions
const simulator = await startSimulator({ capacity: {}, ...options, remember: false })
process.on('message', () => {
  const report = Object.fromEntries(simulator.nodes.map(({ name }) => [name, { ...simulator.load(name) }]))
  process.send?.(report)
})
process.on('disconnect', () => process.exit())
const nodes = simulator.nodes.map(({ name, type, url }) => ({ name, type, url }))
process.send?.({ nodes } satisfies ClusterReady)
