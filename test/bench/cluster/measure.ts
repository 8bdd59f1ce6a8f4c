/**
 * Measures one run: time, time after the last byte, CPU time, the longest block of the event loop, and memory. Times are
 * reported in CPU time too, because on a shared machine the clock also counts the work of other processes.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { measureTurns } from '../../support/event-loop.ts'
import type { Page, Way } from './ways.ts'

export interface Cost {
  readonly total: number
  readonly after: number
  readonly cpu: number
  readonly afterCpu: number
  readonly block: number
}

/** The sampling interval of the loop delay in milliseconds, which is part of the measured delay. */
const RESOLUTION = 1

export async function cost(way: Way, nodes: number, page: Page): Promise<Cost> {
  const loop = monitorEventLoopDelay({ resolution: RESOLUTION })
  loop.enable()
  const used = process.cpuUsage()
  const began = performance.now()
  const run = await way.run(nodes, page)
  const ended = performance.now()
  const [cpu, afterCpu] = [spent(used), spent(run.used)]
  await new Promise((resolve) => setTimeout(resolve, 2 * RESOLUTION))
  loop.disable()
  const block = Math.max(0, loop.max / 1e6 - RESOLUTION)
  return { total: ended - began, after: ended - run.lastByte, cpu, afterCpu, block }
}

/** Returns the milliseconds of CPU time since the given start. */
function spent(since: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(since)
  return (user + system) / 1000
}

/** Measures the maximum CPU time of one turn of the event loop. */
export async function longestTurn(way: Way, nodes: number, page: Page): Promise<number> {
  return measureTurns(() => way.run(nodes, page))
}

export function medianOf(numbers: readonly number[]): number {
  const sorted = [...numbers].sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}

export function median(costs: readonly Cost[]): Cost {
  const of = (name: keyof Cost) => medianOf(costs.map((one) => one[name]))
  return { total: of('total'), after: of('after'), cpu: of('cpu'), afterCpu: of('afterCpu'), block: of('block') }
}

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

/** Measures the peak of additional memory as a multiple of the received bytes. */
export async function memory(way: Way, nodes: number, page: Page): Promise<number> {
  await settleMemory()
  const before = inUse()
  let peak = 0
  const timer = setInterval(look, 1)
  const { bytes } = await way.run(nodes, page)
  look()
  clearInterval(timer)
  return peak / bytes

  function look(): void {
    peak = Math.max(peak, inUse() - before)
  }
}

/** Collects garbage. */
async function settleMemory(): Promise<void> {
  for (let turn = 0; turn < 2; turn++) {
    collectGarbage()
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

/** Returns the bytes of objects and buffers. */
function inUse(): number {
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
