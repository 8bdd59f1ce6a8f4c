/** Sends a fixed number of calls, and measures what the processes can do on this machine at this moment. */
import { Agent } from 'undici'
import { type Call, type Reply, type Sample, send, TIMEOUTS, withStarvation } from './load.ts'
import type { StarvationMeter } from './starvation.ts'

/** Sends the calls with at most `concurrency` at a time. Resolves with all samples and replies. */
export async function sendAll(calls: readonly Call[], concurrency: number, meter?: StarvationMeter) {
  const agent = new Agent({ pipelining: 1, ...TIMEOUTS })
  const results: (Sample & { readonly reply?: Reply })[] = []
  let next = 0
  const worker = async () => {
    for (let call = calls[next++]; call !== undefined; call = calls[next++]) results.push(await send(call, agent))
  }
  await Promise.all(Array.from({ length: Math.min(concurrency, calls.length) }, worker))
  await agent.destroy()
  return withStarvation(results, meter)
}

/** Returns the requests per second that are answered with `concurrency` requests in flight. */
export async function throughputOf(
  calls: readonly Call[],
  concurrency: number,
  meter?: StarvationMeter,
): Promise<number> {
  const begin = performance.now()
  await sendAll(calls, concurrency)
  const end = performance.now()
  return (1000 * calls.length) / (end - begin - (meter?.within(begin, end) ?? 0))
}

const SAMPLE_CALLS = 200
const PARALLEL = 8
/** So much of the throughput that the processes are not the bottleneck when the machine becomes busier. */
const SHARE = 1 / 4

/** Warms the processes up and returns a rate, at most `wanted`, that they can bear on this machine now. */
export async function affordableRate(wanted: number, draw: () => Call): Promise<number> {
  const some = () => Array.from({ length: SAMPLE_CALLS }, draw)
  await sendAll(some(), PARALLEL)
  return Math.min(wanted, SHARE * (await throughputOf(some(), PARALLEL)))
}
