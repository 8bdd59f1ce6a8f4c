/**
 * Measures the cost of traces: CPU time per request of a process with edge, simulated node and client, without a
 * collector, with an unsampled request and with a sampled one. Runs alternate and are compared within each round, so
 * that other load affects all of them.
 */
import http, { Agent } from 'node:http'
import type { AddressInfo } from 'node:net'
import { startSimulator } from '../../packages/simulator/src/index.ts'
import { startEdge } from '../support/edge.ts'
import { readOptions } from '../support/script-options.ts'
import { type Probe, verified, WrongResponseError } from './verify.ts'

readOptions({
  name: 'bench:traces',
  purpose: 'Measures the CPU time that traces cost per request, without a collector, unsampled and sampled.',
  options: {},
})

const ROUNDS = 15
const REQUESTS = 1500
const password = 'only-for-tests'

const before = process.cpuUsage()
await Promise.all(['sdk-trace', 'otlp-transformer', 'resources', 'api'].map((name) => import(`@opentelemetry/${name}`)))
console.log(`libraries: ${(since(before) / 1000).toFixed(0)} ms of CPU time to load`)

const collector = http.createServer((request, response) => {
  request.resume().on('end', () => response.end('{}'))
})
await new Promise<void>((done) => void collector.listen(0, '127.0.0.1', done))
const endpoint = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`
const simulator = await startSimulator({ workers: 0, agents: 10, password })
const world = (traces: object) =>
  startEdge({
    nodes: simulator.nodes,
    password,
    settings: {
      traces,
      cache: { ttl: { agents: '1h', manager: '0s' } },
      access: { limits: { requestsPerSecond: 1e6 } },
      cluster: { limits: { perCaller: 4 } },
    },
  })
const edges = {
  'no collector': await world({}),
  'not recorded': await world({ endpoint, sampleRatio: 0 }),
  recorded: await world({ endpoint, sampleRatio: 1, maxPerSecond: 10_000 }),
}
const agent = new Agent({ keepAlive: true, maxSockets: 4 })
type Variant = keyof typeof edges
const variants = Object.keys(edges) as Variant[]
/** By path. */
const lengths = new Map<string, number>()

for (const [what, path, requests, cacheStatus] of [
  ['hit', '/agents?limit=5', REQUESTS, /; hit\b/],
  ['call to a node', '/manager/status', REQUESTS / 3, /fwd=/],
] as const) {
  await fetchOnce(path)
  const taken = new Map<Variant, number[]>(variants.map((name) => [name, []]))
  // The first round is a warm-up.
  for (let round = 0; round <= ROUNDS; round++)
    for (const [name, figures] of taken) {
      const cost = await verified(probeOf(name, what, path, cacheStatus), () => costOf(name, path, requests))
      if (round > 0) figures.push(cost)
    }
  const off = taken.get('no collector') ?? []
  for (const [name, figures] of taken) {
    const more = median(figures.map((figure, at) => figure - (off[at] ?? Number.NaN)))
    console.log(
      `${what}, ${name}: ${median(figures).toFixed(0)} µs of CPU time per request, ${more.toFixed(1)} more than without a collector`,
    )
  }
}
for (const edge of Object.values(edges)) await edge.close()
await simulator.close()
agent.destroy()
collector.close()

async function costOf(name: Variant, path: string, requests: number): Promise<number> {
  const began = process.cpuUsage()
  const lanes = Array.from({ length: 4 }, async () => {
    for (let at = 0; at < requests / 4; at++) await ask(name, path)
  })
  await Promise.all(lanes)
  simulator.seen.length = 0
  edges[name].logged.length = 0
  return since(began) / requests
}

/** Fills the caches, and returns the length of the response. */
async function fetchOnce(path: string): Promise<void> {
  for (const name of variants) {
    const { url, authorization } = edges[name]
    const response = await fetch(url + path, { headers: { authorization: authorization('admin') } })
    lengths.set(path, (await response.arrayBuffer()).byteLength)
  }
}

function probeOf(name: Variant, what: string, path: string, cacheStatus: RegExp): Probe {
  const { url, authorization } = edges[name]
  const expected = { status: 200, length: lengths.get(path) ?? 0, cacheStatus }
  return { name: `${what}, ${name}`, url: url + path, headers: { authorization: authorization('admin') }, expected }
}

function ask(name: Variant, path: string): Promise<void> {
  const { url, authorization } = edges[name]
  return new Promise((resolve, reject) => {
    http
      .get(url + path, { agent, headers: { authorization: authorization('admin') } }, (response) => {
        if (response.statusCode !== 200) reject(new WrongResponseError(`${path}: status ${response.statusCode}`))
        response.resume().on('end', resolve)
      })
      .on('error', reject)
  })
}

function since(began: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(began)
  return user + system
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}
