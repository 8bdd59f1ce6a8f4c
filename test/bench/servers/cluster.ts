/** A simulated cluster with the capacity of a real one, in a separate process. */
import { type Fault, type Load, type SimulatorOptions, startSimulator } from '../../../packages/simulator/src/index.ts'

/** Sets a fault of all nodes; resolves with `done` when it is active. */
export interface FaultOrder {
  readonly fault: Fault
}

/** The load of each node since the start. */
export type ClusterReport = Readonly<Record<string, Load>>
export type CallsByPath = Readonly<Record<string, number>>
/** The most calls of 60 seconds at each node, and the calls that it refused because of its limit. */
export type MinuteReport = Readonly<Record<string, { readonly most: number; readonly refused: number }>>
export interface ClusterReady {
  readonly nodes: readonly { readonly name: string; readonly type: 'master' | 'worker'; readonly url: string }[]
}

/** `isStill`: the time of the cluster does not pass, so that a response can be compared with a later one. */
export type ClusterOptions = SimulatorOptions & { readonly isStill?: boolean }

const { isStill = false, ...options } = JSON.parse(process.argv[2] ?? '{}') as ClusterOptions
const start = new Date()
const simulator = await startSimulator({ capacity: {}, ...options, ...(isStill && { now: () => start }) })
const calls: Record<string, number> = {}
/** Shorter than a second: the calls of a minute are counted by the time in which they were recorded. */
const COUNT_INTERVAL_MS = 100
const MINUTE_MS = 60_000
/** The calls to each node in the latest intervals, newest last. Intervals are longer on a busy machine. */
const intervals: Record<string, { readonly begun: number; calls: number }[]> = {}
const minutes: Record<string, number> = {}

/** Adds the requests that the simulator has recorded, and removes them. */
function countCalls(): CallsByPath {
  for (const { url, node } of simulator.seen.splice(0)) {
    const path = url.split('?', 1)[0] ?? url
    calls[path] = (calls[path] ?? 0) + 1
    const latest = intervals[node]?.at(-1)
    if (latest !== undefined) latest.calls += 1
  }
  return calls
}

/** Ends an interval. The most calls in 60 seconds are those of the intervals that a minute has. */
function endInterval(): void {
  countCalls()
  for (const { name } of simulator.nodes) {
    const now = performance.now()
    const latest = (intervals[name] ?? []).filter(({ begun }) => begun > now - MINUTE_MS)
    const calls = latest.reduce((total, each) => total + each.calls, 0)
    minutes[name] = Math.max(minutes[name] ?? 0, calls)
    intervals[name] = [...latest, { begun: now, calls: 0 }]
  }
}

function minuteReport(): MinuteReport {
  return Object.fromEntries(
    simulator.nodes.map(({ name }) => {
      return [name, { most: minutes[name] ?? 0, refused: simulator.v4.refusedRequests(name) }]
    }),
  )
}

endInterval()
setInterval(endInterval, COUNT_INTERVAL_MS)
process.on('message', (question: string | FaultOrder) => {
  if (typeof question === 'object') return void strike(question.fault)
  if (question === 'calls') return void process.send?.(countCalls())
  if (question === 'minutes') return void process.send?.(minuteReport())
  const report = Object.fromEntries(simulator.nodes.map(({ name }) => [name, { ...simulator.load(name) }]))
  process.send?.(report)
})
process.on('disconnect', () => process.exit())

async function strike(fault: Fault): Promise<void> {
  for (const { name } of simulator.nodes) await simulator.faults.set(name, fault)
  process.send?.('done')
}

const nodes = simulator.nodes.map(({ name, type, url }) => ({ name, type, url }))
process.send?.({ nodes } satisfies ClusterReady)
