/** The simulated cluster as a process: its faults and its counts are commands of the parent process. */
import { type Fault, startSimulator } from '../../../packages/simulator/src/index.ts'
import type { ClusterCommand, ClusterReport } from './cluster-process.ts'

const simulator = await startSimulator(JSON.parse(process.argv[2] ?? '{}'))
const say = (message: unknown): void => void process.send?.(message)
let counted = 0

function report(): ClusterReport {
  const calls: Record<string, number> = {}
  for (const { node, method, url } of simulator.seen.slice(counted)) {
    const name = `${node} ${method} ${url.split('?')[0]}`
    calls[name] = (calls[name] ?? 0) + 1
  }
  counted = simulator.seen.length
  return {
    calls,
    mostInFlight: Object.fromEntries(simulator.nodes.map(({ name }) => [name, simulator.load(name).most])),
    tooMany: simulator.nodes.reduce((sum, { name }) => sum + simulator.v4.refusedRequests(name), 0),
  }
}

process.on('message', async ({ id, node, fault }: ClusterCommand) => {
  if (node !== undefined) await simulator.faults.set(node, (fault ?? {}) as Fault)
  say({ id, report: node === undefined ? report() : undefined })
})
process.on('disconnect', () => process.exit())
say({ nodes: simulator.nodes.map(({ name, type, url }) => ({ name, type, url })) })
