/** A simulated cluster with the capacity of a real one, in a separate process. */
import { type Load, type SimulatorOptions, startSimulator } from '../../../src/simulator/index.ts'

/** The load of each node since the start. */
export type ClusterReport = Readonly<Record<string, Load>>
export type CallsByPath = Readonly<Record<string, number>>
export interface ClusterReady {
  readonly nodes: readonly { readonly name: string; readonly type: 'master' | 'worker'; readonly url: string }[]
}

const options = JSON.parse(process.argv[2] ?? '{}') as SimulatorOptions
const simulator = await startSimulator({ capacity: {}, ...options })
const calls: Record<string, number> = {}
const COUNT_INTERVAL_MS = 1000

/** Adds the requests that the simulator has recorded, and removes them. */
function countCalls(): CallsByPath {
  for (const { url } of simulator.seen.splice(0)) {
    const path = url.split('?', 1)[0] ?? url
    calls[path] = (calls[path] ?? 0) + 1
  }
  return calls
}

setInterval(countCalls, COUNT_INTERVAL_MS)
process.on('message', (question) => {
  if (question === 'calls') return void process.send?.(countCalls())
  const report = Object.fromEntries(simulator.nodes.map(({ name }) => [name, { ...simulator.load(name) }]))
  process.send?.(report)
})
process.on('disconnect', () => process.exit())
const nodes = simulator.nodes.map(({ name, type, url }) => ({ name, type, url }))
process.send?.({ nodes } satisfies ClusterReady)
