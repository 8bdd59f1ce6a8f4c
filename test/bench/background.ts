/**
 * Counts the calls that idle replicas send to a simulated manager by themselves (`npm run bench:background`): with all
 * nodes up, and with one worker down.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { startSimulator } from '../../packages/simulator/src/index.ts'
import { startEdge } from '../support/edge.ts'
import { startRedis } from '../support/redis.ts'
import { readOptions } from '../support/script-options.ts'

const { values } = readOptions({
  name: 'bench:background',
  purpose: 'Counts the calls that one, two and four idle replicas with a Redis send to the manager per minute.',
  options: { seconds: { kind: 'number', meaning: 'time of each measurement; default 120' } },
})

const seconds = values.seconds ?? 120
const password = 'only-for-tests'

for (const count of [1, 2, 4]) {
  const redis = await startRedis()
  const simulator = await startSimulator({ workers: 2, agents: 10, password })
  // In this mode the edge calls workers too.
  const settings = { cluster: { distribution: 'edge' }, cache: { redis: { url: redis.url } } }
  const edges = []
  for (let at = 0; at < count; at += 1) edges.push(await startEdge({ nodes: simulator.nodes, password, settings }))
  // Reports of all replicas have been exchanged.
  await wait(5000)
  await measure(`${count} idle replicas, all nodes up`, simulator.seen)
  // The node receives a call and closes the connection, so that the call is counted.
  await simulator.faults.set('worker-1', { reset: true })
  const headers = { authorization: edges[0]?.authorization('admin') ?? '' }
  for (const edge of edges) {
    for (let turn = 0; turn < 3; turn += 1) await (await fetch(`${edge.url}/cluster/worker-1/info`, { headers })).text()
  }
  await wait(5000)
  await measure(`${count} idle replicas, one worker down`, simulator.seen)
  await Promise.all(edges.map((edge) => edge.close()))
  await Promise.all([simulator.close(), redis.close()])
}

async function measure(what: string, seen: readonly { readonly node: string; readonly url: string }[]): Promise<void> {
  const from = seen.length
  await wait(seconds * 1000)
  const counts = new Map<string, number>()
  for (const { node, url } of seen.slice(from)) {
    const call = `${node} GET ${url.split('?')[0]}`
    counts.set(call, (counts.get(call) ?? 0) + 1)
  }
  const calls = [...counts].map(([call, n]) => `${call}: ${((n * 60) / seconds).toFixed(1)}`)
  console.log(`${what}, calls per minute: ${calls.length === 0 ? 'none' : calls.join(', ')}`)
}
