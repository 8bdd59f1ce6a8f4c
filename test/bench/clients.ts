/**
 * Ten thousand clients on a manager as slow as the real one: two replicas of the edge with
 * one Redis; then fewer clients without the edge, for comparison. `--quick`, `--clients N`, `--agents N`,
 * `--looked-at N` (agents whose pages are opened), `--seconds N`, `--stale N` (seconds of staleWhileRevalidate),
 * `--direct N` (clients without the edge; 0: none).
 */
import { startRedis } from '../support/redis.ts'
import { quantile, run, type Taken } from './clients/load.ts'
import { type Mix, rateOf } from './clients/mix.ts'
import { basic, nodePassword, type RunningCluster, startCluster, startReplicas } from './clients/parties.ts'
import { cpuOf } from './load.ts'
import type { ClusterReport } from './servers/cluster.ts'

const quick = process.argv.includes('--quick')
const option = (name: string, usual: number): number => {
  const at = process.argv.indexOf(`--${name}`)
  return at < 0 ? usual : Number(process.argv[at + 1])
}
const clients = option('clients', quick ? 2_000 : 10_000)
const agents = option('agents', 1_999)
const lookedAt = option('looked-at', 5)
const seconds = option('seconds', quick ? 8 : 60)
const direct = option('direct', quick ? 20 : 100)
/** Seconds of stale-while-revalidate; 0: the default settings. */
const stale = option('stale', 0)
/** Milliseconds that a browser waits for its page. */
const PATIENCE = 20_000
const say = (text: string): void => console.log(text)

async function throughEdge(): Promise<void> {
  const cluster = await startCluster({ workers: 2, agents })
  const redis = await startRedis()
  const replicas = await startReplicas(2, { nodes: cluster.nodes, redis: redis.url, inFlight: 2, stale })
  const mix: Mix = { clients, agents, lookedAt, nodes: cluster.nodes.map(({ name }) => name) }
  const authorization = ({ kind }: { kind: string }) => basic(kind === 'write' ? 'writer' : 'browser')
  say(`${clients} clients, two replicas (2 calls in flight on a node each), 3 nodes, ${agents + 1} agents,`)
  const shown = stale === 0 ? 'settings as they come' : `staleWhileRevalidate ${stale}s`
  say(`pages of ${lookedAt} agents, ${shown}: ${rateOf(mix).toFixed(0)} requests a second`)
  const go = (all: number, time: number) =>
    run(
      { urls: replicas.urls, mix: { ...mix, clients: all }, authorization, patience: PATIENCE, throughEdge: true },
      time,
    )
  // The cache is empty: first some clients start, then all.
  const first = Math.ceil(clients / 10)
  const warm = await go(first, quick ? 3 : 10)
  say(`  empty cache, ${first} clients: ${latency(warm)}; not answered ${failures(warm)}`)
  const before = await cluster.report()
  const cpu = await Promise.all(replicas.pids.map(cpuOf))
  const began = performance.now()
  const taken = await go(clients, seconds)
  const spent = (performance.now() - began) / 1000
  const used = (await Promise.all(replicas.pids.map(cpuOf))).map((now, i) => (now - (cpu[i] ?? 0)) / 1e6 / spent)
  say(`  ${seconds} s: ${report(taken, spent)}`)
  tellNodes(taken, { before, after: await cluster.report(), spent })
  say(`  processors: ${used.map((part) => `${(part * 100).toFixed(0)} %`).join(' and ')} of one for each replica`)
  await replicas.close()
  await redis.close()
  cluster.close()
}

/** The same on the master's own API with fewer clients: it completes four or five calls a second. */
async function withoutEdge(): Promise<void> {
  const cluster: RunningCluster = await startCluster({ workers: 2, agents })
  const mix: Mix = { clients: direct, agents, lookedAt, nodes: cluster.nodes.map(({ name }) => name) }
  const urls = cluster.nodes.filter(({ type }) => type === 'master').map(({ url }) => url)
  const load = { urls, mix, authorization: () => basic('edge', nodePassword), patience: PATIENCE, throughEdge: false }
  say(`without the edge, ${direct} clients: ${rateOf(mix).toFixed(1)} requests a second`)
  const before = await cluster.report()
  const began = performance.now()
  const taken = await run(load, Math.min(seconds, 30))
  const spent = (performance.now() - began) / 1000
  say(`  ${report(taken, spent)}`)
  tellNodes(taken, { before, after: await cluster.report(), spent })
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
    `${(times.length / spent).toFixed(0)} requests a second, ${latency(taken)}`,
    `not answered ${failures(taken)}`,
    ...(refusedAfter.length > 0 ? [`sent away after ${quantile(refusedAfter, 0.5).toFixed(0)} ms (median)`] : []),
    ...(ages.length > 0 ? [`age served: median ${age(0.5)} s, p99 ${age(0.99)} s, greatest ${age(1)} s`] : []),
  ].join('\n  ')
}

function tellNodes(
  { times }: Taken,
  { before, after, spent }: { before: ClusterReport; after: ClusterReport; spent: number },
): void {
  let calls = 0
  for (const [name, { served, most }] of Object.entries(after)) {
    const own = served - (before[name]?.served ?? 0)
    calls += own
    say(`  ${name}: ${(own / spent).toFixed(2)} calls a second, ${most} at once at most`)
  }
  say(`  calls to the manager: ${((100 * calls) / times.length).toFixed(2)} % of the requests`)
}

await throughEdge()
if (direct > 0) await withoutEdge()
