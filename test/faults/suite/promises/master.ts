/** R9: the master is down, then every node. */
import { eventually } from '../../../support/eventually.ts'
import { sendAll } from '../calls.ts'
import { startClusterProcess } from '../cluster-process.ts'
import { headers, startEdgeProcess } from '../edge-process.ts'
import { type Call, phaseOf, type Reply } from '../load.ts'
import { effect, type FaultPromise, figure, none } from '../promise.ts'

const TTL_S = 1
const STALE_S = 60
const NOISE_MS = 25
const WRITES = 50

/** A stored response that no node confirmed: marked, and not older than it may be. */
function verifyStale(oldest: number): (reply: Reply) => string | undefined {
  return ({ status, headers: received, text }) => {
    const [age, cache] = [Number(received.age), String(received['cache-status'])]
    if (status !== 200) return `${status} ${text.slice(0, 120)}`
    if (!cache.includes('detail=stale-if-error')) return `not marked: ${cache}`
    return age >= TTL_S && age <= oldest ? undefined : `Age: ${received.age}`
  }
}

/** A write that probes an ejected node finds that it still refuses connections. */
const withoutProbes = (failures: readonly string[]) => failures.filter((text) => !/^502 .*"error":924/.test(text))

export const masterPromises: readonly FaultPromise[] = [
  {
    id: 'R9',
    title: 'The master is down: workers answer; all nodes are down: marked stale reads, quick 503 for writes',
    planted: 'no node is down',
    async run(context) {
      const staleSeconds = Math.max(5, Math.round(STALE_S * Math.min(1, context.scale)))
      const cluster = context.keep(await startClusterProcess({ workers: 2, agents: 30 }))
      const ttl = { agents: `${TTL_S}s` }
      // Without it, a response of a refresh that has not failed yet is marked as stale-while-revalidate.
      const staleWhileRevalidate = { agents: '0s', summary: '0s' }
      // The misses are pages of one collection, of which a snapshot would answer most.
      const snapshots = { groups: [] }
      const settings = { cache: { ttl, staleWhileRevalidate, staleIfError: `${staleSeconds}s`, snapshots } }
      const edge = context.keep(await startEdgeProcess({ nodes: cluster.nodes, settings }))
      const meter = context.meter(cluster, edge)
      const call = (path: string, rest: Partial<Call> = {}): Call => ({ origin: edge.url, path, headers, ...rest })
      const misses = (from: number) =>
        sendAll(
          Array.from({ length: context.count(300, 100) }, (_, at) => call(`/rules?limit=1&offset=${from + at}`)),
          2,
          meter,
        )
      const stored = ['/agents/001', '/agents/002', '/agents?limit=5', '/agents/summary'].map((path) => call(path))

      await misses(0)
      const before = phaseOf(await misses(500))
      context.requireCalm(before.p99)
      await context.inject(() => cluster.node('master').proxy.set({ kind: 'refuse' }))
      const write = call('/agents/030/group/web', { method: 'PUT' })
      // The first failures eject the master.
      await misses(1000)
      const through = await sendAll([write], 1)
      const during = phaseOf(await misses(1500))

      const filled = phaseOf(await sendAll(stored, 1))
      await context.inject(() => Promise.all(cluster.nodes.map(({ proxy }) => proxy.set({ kind: 'refuse' }))))
      const marked = stored.map((each) => ({ ...each, verify: verifyStale(STALE_S) }))
      const isMarked = async () => phaseOf(await sendAll(marked, 1)).failures.length === 0
      await eventually(isMarked, 5000).catch(() => undefined)
      const isDown = await isMarked()
      const stale = phaseOf(
        await sendAll(
          stored.map((each) => ({ ...each, verify: verifyStale(staleSeconds + TTL_S) })),
          1,
        ),
      )
      const refused = (reply: Reply) =>
        reply.status === 503 && Number(reply.headers['retry-after']) >= 1 ? undefined : `${reply.status} ${reply.text}`
      const warm = sendAll(
        Array.from({ length: 5 }, () => ({ ...write, verify: refused })),
        1,
      )
      await warm
      const writes = phaseOf(
        await sendAll(
          Array.from({ length: WRITES }, () => ({ ...write, verify: refused })),
          1,
          meter,
        ),
      )
      const probes = writes.failures.length - withoutProbes(writes.failures).length
      const outlived = await untilRefused(stored[0] as Call, (staleSeconds + TTL_S + 3) * 1000, isDown)
      return [
        effect('all nodes are down', isDown ? 'stale responses' : 'fresh responses', isDown),
        none(`failures of ${during.requests} reads of any node without the master`, [
          ...during.failures,
          ...through.flatMap(({ failure }) => failure ?? []),
        ]),
        context.within(
          `their p99 (base ${before.p99.toFixed(1)})`,
          during.p99,
          Math.max(1.2 * before.p99, before.p99 + NOISE_MS),
        ),
        none('unmarked or failed stale reads', [...filled.failures, ...stale.failures]),
        none(`writes other than 503 with Retry-After, of ${WRITES}`, withoutProbes(writes.failures)),
        figure(
          'writes that probed an ejected node (502)',
          probes,
          `≤ ${cluster.nodes.length}`,
          probes <= cluster.nodes.length,
        ),
        context.within('p99 of these writes', writes.p99, before.p99 + 50),
        figure(
          'age of the last stale read',
          `${outlived} s`,
          `≤ ${staleSeconds + TTL_S} s`,
          outlived <= staleSeconds + TTL_S,
        ),
      ]
    },
  },
]

/** Reads until the stored response is no longer served. Returns the greatest `Age` in seconds. */
async function untilRefused(call: Call, patience: number, isDown: boolean): Promise<number> {
  let oldest = 0
  if (!isDown) return oldest
  const isRefused = async () => {
    const [sample] = await sendAll([{ ...call, verify: () => undefined }], 1)
    if (sample?.status === 200) oldest = Math.max(oldest, Number(sample.reply?.headers.age ?? 0))
    return sample?.status === 503
  }
  await eventually(isRefused, patience).catch(() => {
    oldest = Number.POSITIVE_INFINITY
  })
  return oldest
}
