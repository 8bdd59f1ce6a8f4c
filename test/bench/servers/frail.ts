/** A simulated cluster as slow and as easily overrun as a real one, in a process of its own. */
import { type SimulatorOptions, startSimulator } from '../../../src/simulator/index.ts'

/** What each node has seen since the start. */
export type FrailReport = Readonly<Record<string, { readonly served: number; readonly most: number }>>
export interface FrailReady {
  readonly nodes: readonly { readonly name: string; readonly type: 'master' | 'worker'; readonly url: string }[]
}

const options = JSON.parse(process.argv[2] ?? '{}') as SimulatorOptions
const simulator = await startSimulator({ ...options, capacity: {}, remember: false })
process.on('message', () => {
  const report = Object.fromEntries(simulator.nodes.map(({ name }) => [name, { ...simulator.load(name) }]))
  process.send?.(report)
})
process.on('disconnect', () => process.exit())
const nodes = simulator.nodes.map(({ name, type, url }) => ({ name, type, url }))
process.send?.({ nodes } satisfies FrailReady)
