/** What one run costs: time, time after the last byte, CPU, the longest block of the event loop, and memory. */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Page, Way } from './ways.ts'

export interface Cost {
  readonly total: number
  readonly after: number
  readonly cpu: number
  readonly block: number
}

/** The delay of the loop is looked at so often (ms), and is longer by that where nothing blocks. */
const RESOLUTION = 1

export async function cost(way: Way, nodes: number, page: Page): Promise<Cost> {
  const loop = monitorEventLoopDelay({ resolution: RESOLUTION })
  loop.enable()
  const used = process.cpuUsage()
  const began = performance.now()
  const { lastByte } = await way.run(nodes, page)
  const ended = performance.now()
  const { user, system } = process.cpuUsage(used)
  await new Promise((resolve) => setTimeout(resolve, 2 * RESOLUTION))
  loop.disable()
  const block = Math.max(0, loop.max / 1e6 - RESOLUTION)
  return { total: ended - began, after: ended - lastByte, cpu: (user + system) / 1000, block }
}

export function medianOf(numbers: readonly number[]): number {
  const sorted = [...numbers].sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}

export function median(costs: readonly Cost[]): Cost {
  const of = (name: keyof Cost) => medianOf(costs.map((one) => one[name]))
  return { total: of('total'), after: of('after'), cpu: of('cpu'), block: of('block') }
}

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

/** The highest use of memory over what was used before, as a multiple of the bytes received. */
export async function memory(way: Way, nodes: number, page: Page): Promise<number> {
  for (let turn = 0; turn < 2; turn++) {
    collectGarbage()
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
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

function inUse(): number {
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
