/**
 * Ten thousand clients on a manager as slow as the real one (`npm run bench:mix`): two replicas of the edge with one
 * Redis; then fewer clients without the edge, for comparison.
 */
import { startRedis } from '../support/redis.ts'
import { readOptions } from '../support/script-options.ts'
import { basic, nodePassword, type RunningCluster, startCluster, startReplicas } from './clients/parties.ts'
import { cpuOf } from './load.ts'
import { type Mix, rateOf } from './mix/calls.ts'
import { quantile, run, type Taken } from './mix/load.ts'
import type { ClusterReport } from './servers/cluster.ts'

const { values } = readOptions({
  name: 'bench:mix',
  purpose: 'Measures what many clients get from a slow manager, with two replicas of the edge and without the edge.',
  options: {
    quick: { kind: 'flag', meaning: 'fewer clients for a shorter time' },
    clients: { kind: 'number', meaning: 'clients of the edge (default 10000, with --quick 2000)' },
    agents: { kind: 'number', meaning: 'agents of the cluster (default 1999)' },
    'viewed-agents': { kind: 'number', meaning: 'agents whose pages the clients open (default 5)' },
    seconds: { kind: 'number', value: 'SECONDS', meaning: 'duration (default 60, with --quick 8)' },
    direct: { kind: 'number', meaning: 'clients without the edge (default 100, with --quick 20; 0: none)' },
  },
})
const { quick, agents = 1_999, 'viewed-agents': viewedAgents = 5 } = values
const { clients = quick ? 2_000 : 10_000, seconds = quick ? 8 : 60, direct = quick ? 20 : 100 } = values
/** Milliseconds after which a client gives up. */
const CLIENT_TIMEOUT_MS = 20_000
const say = (text: string): void => console.log(text)

async function throughEdge(): Promise<void> {
  const cluster = await startCluster({ workers: 2, agents })
  const redis = await startRedis()
  const replicas = await startReplicas(2, { nodes: cluster.nodes, redis: redis.url })
  const mix: Mix = { clients, agents, viewedAgents, nodes: cluster.nodes.map(({ name }) => name) }
  const authorization = ({ kind }: { kind: string }) => basic(kind === 'write' ? 'writer' : 'browser')
  say(`${clients} clients, two replicas with the default settings, 3 nodes, ${agents + 1} agents,`)
  say(`pages of ${viewedAgents} agents: ${rateOf(mix).toFixed(0)} requests per second`)
  const go = (all: number, time: number) =>
    run(
      {
        urls: replicas.urls,
        mix: { ...mix, clients: all },
        authorization,
        clientTimeout: CLIENT_TIMEOUT_MS,
        throughEdge: true,
      },
      time,
    )
  // The cache is empty: first some clients start, then all.
  const first = Math.ceil(clients / 10)
  const warm = await go(first, quick ? 3 : 10)
  say(`  empty cache, ${first} clients: ${latency(warm)}; failed: ${failures(warm)}`)
  const before = await cluster.report()
  const cpu = await Promise.all(replicas.pids.map(cpuOf))
  const began = performance.now()
  const taken = await go(clients, seconds)
  const spent = (performance.now() - began) / 1000
  const used = (await Promise.all(replicas.pids.map(cpuOf))).map((now, i) => (now - (cpu[i] ?? 0)) / 1e6 / spent)
  say(`  ${seconds} s: ${report(taken, spent)}`)
  printNodes(taken, { before, after: await cluster.report(), spent })
  say(`  CPU of the replicas: ${used.map((part) => `${(part * 100).toFixed(0)} %`).join(' and ')} of one core`)
  await replicas.close()
  await redis.close()
  cluster.close()
}

/** The same on the API of the master with fewer clients: it completes four or five calls per second. */
async function withoutEdge(): Promise<void> {
  const cluster: RunningCluster = await startCluster({ workers: 2, agents })
  const mix: Mix = { clients: direct, agents, viewedAgents, nodes: cluster.nodes.map(({ name }) => name) }
  const urls = cluster.nodes.filter(({ type }) => type === 'master').map(({ url }) => url)
  const load = {
    urls,
    mix,
    authorization: () => basic('edge', nodePassword),
    clientTimeout: CLIENT_TIMEOUT_MS,
    throughEdge: false,
  }
  say(`without the edge, ${direct} clients: ${rateOf(mix).toFixed(1)} requests per second`)
  const before = await cluster.report()
  const began = performance.now()
  const taken = await run(load, Math.min(seconds, 30))
  const spent = (performance.now() - began) / 1000
  say(`  ${report(taken, spent)}`)
  printNodes(taken, { before, after: await cluster.report(), spent })
  cluster.close()
}

function latency({ times }: Taken): string {
  const ms = (part: number) => quantile(times, part).toFixed(1)
  return `median ${ms(0.5)} ms, p99 ${ms(0.99)} ms, longest ${ms(1)} ms`
}

function failures({ times, failed, failedByKind }: Taken): string {
  const count = [...failed.values()].reduce((sum, one) => sum + one, 0)
  const words = (of: Map<string, number>) => [...of].map(([name, number]) => `${name}: ${number}`).join(', ')
  if (count === 0) return '0'
  return `${count} (${((100 * count) / times.length).toFixed(2)} %; ${words(failed)}; ${words(failedByKind)})`
}

function report(taken: Taken, spent: number): string {
  const { times, ages, refusedAfter } = taken
  const age = (part: number) => quantile(ages, part)
  return [
    `${(times.length / spent).toFixed(0)} requests per second, ${latency(taken)}`,
    `failed: ${failures(taken)}`,
    ...(refusedAfter.length > 0
      ? [`rejected with 503 after ${quantile(refusedAfter, 0.5).toFixed(0)} ms (median)`]
      : []),
    ...(ages.length > 0 ? [`age of hits: median ${age(0.5)} s, p99 ${age(0.99)} s, maximum ${age(1)} s`] : []),
  ].join('\n  ')
}

function printNodes(
  { times }: Taken,
  { before, after, spent }: { before: ClusterReport; after: ClusterReport; spent: number },
): void {
  let calls = 0
  for (const [name, { served, most }] of Object.entries(after)) {
    const own = served - (before[name]?.served ?? 0)
    calls += own
    say(`  ${name}: ${(own / spent).toFixed(2)} calls per second, at most ${most} at the same time`)
  }
  say(`  calls to the manager: ${((100 * calls) / times.length).toFixed(2)} % of the requests`)
}

await throughEdge()
if (direct > 0) await withoutEdge()
