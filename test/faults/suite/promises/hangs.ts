/** R29: a node accepts connections and answers nothing: the master, then a worker. */
import { eventually } from '../../../support/eventually.ts'
import { sumOf } from '../../../support/scrape.ts'
import { sendAll } from '../calls.ts'
import { type ClusterProcess, startClusterProcess } from '../cluster-process.ts'
import { type EdgeProcess, headers, startEdgeProcess } from '../edge-process.ts'
import { type Call, phaseOf, type Reply, startSteadyLoad } from '../load.ts'
import { effect, type FaultPromise, type Figure, figure, none, type RunContext } from '../promise.ts'

const FOUND_MS = 10_000
const RECOVERED_MS = 5_000
/** Of a read that a stored response may answer, also before the hang is found. */
const MAX_WAIT_MS = 2_000
const WRITE_DEADLINE_MS = 12_000
const POLL_MS = 50
/** Of each kind, every two seconds of the load. */
const RATE = 6

interface Victim {
  readonly node: string
  /** Reads that only this node answers, and that are stored. */
  readonly reads: readonly string[]
  readonly write: Pick<Call, 'method' | 'path'>
}

const VICTIMS: readonly Victim[] = [
  {
    node: 'master',
    reads: ['/agents/001', '/agents/002', '/agents/003'],
    write: { method: 'PUT', path: '/agents/030/restart' },
  },
  {
    node: 'worker-1',
    reads: ['/cluster/worker-1/info', '/cluster/worker-1/stats/weekly'],
    // A restart of the node would fence its data: nothing of it is served then.
    write: { method: 'DELETE', path: '/cluster/worker-1/files?path=etc/lists/none' },
  },
]
/** Answered by neither. */
const OTHERS = ['/cluster/worker-2/info', '/cluster/worker-2/stats/weekly', '/cluster/worker-2/logs/summary']

const isFresh = ({ status, headers: received }: Reply) =>
  status === 200 && !String(received['cache-status']).includes('stale')

const verifyStale = (reply: Reply) => {
  const cache = String(reply.headers['cache-status'])
  return reply.status === 200 && /detail=stale-if-error\/\d+/.test(cache) ? undefined : `${reply.status} ${cache}`
}

export const hangPromises: readonly FaultPromise[] = [
  {
    id: 'R29',
    title: 'A node hangs: found in 10 s, stored responses at once, no other node ejected, recovered in 5 s',
    planted: 'no node hangs',
    async run(context) {
      const cluster = context.keep(await startClusterProcess({ workers: 2, agents: 30 }))
      const ttl = { agents: '1s', cluster: '1s', manager: '1s' }
      const endpoints = { '/cluster/:node_id/info': '1s', '/cluster/:node_id/stats/weekly': '1s' }
      const limits = { timeout: `${WRITE_DEADLINE_MS}ms`, slowTimeout: `${WRITE_DEADLINE_MS}ms` }
      const settings = { cluster: { limits }, cache: { ttl, endpoints, staleIfError: '60s' } }
      const edge = context.keep(await startEdgeProcess({ nodes: cluster.nodes, settings }))
      const figures: Figure[] = []
      for (const victim of VICTIMS) figures.push(...(await figuresOf(context, { victim, cluster, edge })))
      return figures
    },
  },
]

interface Trial {
  readonly victim: Victim
  readonly cluster: ClusterProcess
  readonly edge: EdgeProcess
}

async function figuresOf(context: RunContext, { victim, cluster, edge }: Trial): Promise<readonly Figure[]> {
  const { node, reads, write } = victim
  const call = (path: string, rest: Partial<Call> = {}): Call => ({ origin: edge.url, path, headers, ...rest })
  const replyTo = async (each: Call) => (await sendAll([each], 1))[0]
  const stored = reads.map((path) => call(path, { verify: () => undefined }))
  const ejected = new Set<string>()
  const isEjected = async () => {
    const samples = await edge.metrics()
    const found = cluster.nodes.filter(({ name }) => sumOf(samples, 'edge_node_ejected', { node: name }) > 0)
    for (const { name } of found) ejected.add(name)
    return found.some(({ name }) => name === node)
  }
  const waitUntil = async (holds: () => Promise<boolean>, patience: number) => {
    const began = performance.now()
    while (!(await holds())) {
      if (performance.now() - began > patience) return Number.POSITIVE_INFINITY
      await new Promise((resolve) => setTimeout(resolve, POLL_MS))
    }
    return performance.now() - began
  }
  await eventually(async () => (await sendAll(stored, 1)).every(({ reply }) => reply !== undefined && isFresh(reply)))
  const base = phaseOf(await sendAll([...stored, ...OTHERS.map((path) => call(path))], 1))
  context.requireCalm(base.p99)
  const load = startSteadyLoad({
    rate: RATE,
    draw: () =>
      context.random.chance(0.5) ? call(context.random.of(OTHERS), { kind: 'other' }) : context.random.of(stored),
  })
  load.phase('load')
  await context.inject(() => cluster.node(node).proxy.set({ kind: 'stall' }))
  const written = replyTo(
    call(write.path, { ...write, verify: ({ status }) => (status === 504 ? undefined : `${status}`) }),
  )
  const found = await waitUntil(isEjected, 3 * FOUND_MS)
  const stale = phaseOf(
    await sendAll(
      [...stored, ...stored, ...stored].map((each) => ({ ...each, verify: verifyStale })),
      1,
    ),
  )
  const outcome = await written
  await isEjected()
  await cluster.recover()
  const recovered = await waitUntil(async () => {
    const replies = await sendAll(stored, stored.length)
    return !(await isEjected()) && replies.every(({ reply }) => reply !== undefined && isFresh(reply))
  }, 3 * RECOVERED_MS)
  const { load: sent } = await load.stop()
  const others = sent?.of('other')
  const slowest = Math.max(0, ...(sent?.of('read').samples ?? []).map(({ ms }) => ms))
  const name = (text: string) => `${node}: ${text}`
  return [
    effect(name('ejected'), ejected.has(node) ? 'yes' : 'no', ejected.has(node)),
    context.within(name('found'), found, FOUND_MS),
    none(name('stored responses not served stale'), stale.failures),
    context.within(name('slowest of them'), Math.max(0, ...stale.samples.map(({ ms }) => ms)), base.p99 + 100),
    figure(
      name('other nodes ejected'),
      [...ejected].filter((each) => each !== node).join() || 'none',
      'none',
      [...ejected].every((each) => each === node),
    ),
    context.within(name('slowest read of a stored response under load'), slowest, MAX_WAIT_MS),
    none(name(`failures of ${others?.requests ?? 0} reads of other nodes`), others?.failures ?? ['no load']),
    none(name('write without its 504 at the deadline'), outcome?.failure === undefined ? [] : [outcome.failure]),
    context.within(name('write after its deadline'), (outcome?.ms ?? 0) - WRITE_DEADLINE_MS, 1000),
    context.within(name('recovered'), recovered, RECOVERED_MS),
  ]
}
