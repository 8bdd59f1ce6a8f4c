/**
 * R34: no node answers for minutes, with `cache.outage`; at its end, Redis is stalled too. The same in front of the simulated
 * release 5.0, whose only API is that of the master, with its limits of requests.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { merge, type Settings } from '../../../support/edge.ts'
import { eventually } from '../../../support/eventually.ts'
import { startRedis } from '../../../support/redis.ts'
import { sendAll } from '../calls.ts'
import { type ClusterNode, startClusterProcess } from '../cluster-process.ts'
import { headers, startEdgeProcess } from '../edge-process.ts'
import { type Call, type Reply, startSteadyLoad } from '../load.ts'
import { effect, type FaultPromise, type Figure, figure, none, type RunContext } from '../promise.ts'
import { startNodeUpstream } from '../upstream.ts'
import { coherenceDuring } from './coherence.ts'

const REGISTERS = ['001', '002', '003', '004', '005', '006', '007', '008']
const PAGES = ['/agents', '/agents?limit=5', '/agents?limit=5&offset=3', '/agents?sort=-id']
const OUTAGE_MS = 5 * 60_000
const OUTAGE_OF_RELEASE_5_MS = 10 * 60_000
const LEAST_OUTAGE_MS = 8_000
const FOUND_MS = 2_000
const FRESH_MS = 10_000
const IN_FLIGHT = 4
const WRITE_MS = 1_000

const MARK = /detail=(?:outage|without-redis)/
const isMarked = ({ headers: received }: Reply) => MARK.test(String(received['cache-status']))

/** Nodes with the registers of agents, which writes set and reads show. */
interface Site {
  readonly nodes: readonly ClusterNode[]
  readonly pid: number
  /** Of the edges, beside those of every site. */
  readonly settings: { readonly cluster?: Settings; readonly cache?: Settings }
  /** Paths that are written before everything else. */
  readonly groups: readonly string[]
  /** Returns the path of the next write of a register, whose value is now `value`. */
  pathOf(id: string, value: number): string
  /** Returns the value that a write has set; 0: none. */
  writtenBy(reply: Reply | undefined, value: number): number
  valueOf(row: Row): number
  report(): Promise<{ readonly maxConcurrent: number; readonly tooMany: number }>
  close(): Promise<unknown>
}

interface Row {
  readonly id: string
  readonly value?: number
  readonly group?: readonly string[]
}

const ROUNDS = 3

async function startRegisters(): Promise<Site> {
  const upstream = await startNodeUpstream({ delay: 4 })
  return {
    ...upstream,
    settings: { cache: { ttl: { agents: '1s' } } },
    groups: [],
    pathOf: (id, value) => `/agents/${id}/group/w${value}`,
    writtenBy: (reply) => Number(/value (\d+)/.exec(reply?.text ?? '')?.[1] ?? 0),
    valueOf: ({ value = 0 }) => value,
    report: async () => ({ ...(await upstream.report()), tooMany: 0 }),
  }
}

/** The simulated release 5.0 with its limits: the register of an agent is the number of its only group. */
async function startRelease5(): Promise<Site> {
  const cluster = await startClusterProcess({
    layout: 'v4',
    version: '5.0.0',
    agents: REGISTERS.length,
    workers: 0,
    v4: { requestsPerMinute: 300, unauthenticatedPerMinute: 10 },
  })
  return {
    ...cluster,
    settings: { cluster: { layout: 'v4' } },
    groups: Array.from({ length: ROUNDS }, (_, round) => `/agents/groups/w${round + 1}`),
    pathOf: (id, value) => `/agents/${id}/group/w${value + 1}?force_single_group`,
    writtenBy: (reply, value) => (reply?.text.startsWith('{"error":0') ? value + 1 : 0),
    valueOf: ({ group = [] }) => Number(/^w(\d+)$/.exec(group.join())?.[1]),
    report: async () => {
      const { mostInFlight, tooMany } = await cluster.report()
      return { maxConcurrent: Math.max(...Object.values(mostInFlight)), tooMany }
    },
  }
}

/** Returns the values of the registers in a response. Agent 000 has none. */
function valuesOf(site: Site, { text }: Reply): ReadonlyMap<string, number> {
  const { data } = JSON.parse(text) as { data: Row | { items: readonly Row[] } }
  const rows = ('items' in data ? data.items : [data]).filter(({ id }) => id !== '000')
  return new Map(rows.map((row) => [row.id, site.valueOf(row)]))
}

/** Figures of an outage of all nodes of a site. `outage`: milliseconds at the scale 1. */
async function figuresOf(context: RunContext, site: Site, outage: number): Promise<readonly Figure[]> {
  const redis = context.keep(await startRedis())
  const settings = merge(site.settings, {
    cluster: { limits: { inFlight: IN_FLIGHT } },
    cache: {
      redis: { url: redis.url },
      outage: '8h',
      withoutRedis: 'stale',
      divergenceCheck: { sampleRatio: 0 },
    },
  })
  const start = async () => context.keep(await startEdgeProcess({ nodes: site.nodes, settings }))
  const replicas = await Promise.all([start(), start()])
  const meter = context.meter(site, ...replicas)
  const urls = replicas.map(({ url }) => url)
  const put = async (origin: string, path: string) => {
    const [sample] = await sendAll([{ origin, path, method: 'PUT', headers, verify: () => undefined }], 1)
    return sample
  }
  for (const path of site.groups) await put(context.random.of(urls), path)
  const written = new Map<string, number>()
  const write = async (id: string, origin: string) => {
    const before = written.get(id) ?? 0
    const sample = await put(origin, site.pathOf(id, before))
    const value = site.writtenBy(sample?.reply, before)
    if (value > 0) written.set(id, value)
    return sample
  }
  for (let round = 0; round < ROUNDS; round += 1) for (const id of REGISTERS) await write(id, context.random.of(urls))
  const isRight = (reply: Reply) =>
    reply.status === 200 && [...valuesOf(site, reply)].every(([id, value]) => value === written.get(id))
  const paths = [...REGISTERS.map((id) => `/agents/${id}`), ...PAGES]
  const callsOf = (verify: NonNullable<Call['verify']>) =>
    urls.flatMap((origin) => paths.map((path): Call => ({ origin, path, headers, verify })))
  const problemOf = (reply: Reply) => `${reply.status} ${reply.headers['cache-status']} ${reply.text.slice(0, 80)}`
  let isCertain = false
  const unmarked: string[] = []
  const loaded = callsOf((reply) => {
    if (!isRight(reply)) return problemOf(reply)
    if (isCertain && !isMarked(reply)) unmarked.push(problemOf(reply))
    return undefined
  })
  const marked = callsOf((reply) => (isRight(reply) && isMarked(reply) ? undefined : problemOf(reply)))
  const fresh = callsOf((reply) => (isRight(reply) && !isMarked(reply) ? undefined : problemOf(reply)))
  const holds = async (calls: readonly Call[]) =>
    (await sendAll(calls, 4)).every(({ failure }) => failure === undefined)
  // Each response is stored by one replica and read by the other.
  await eventually(() => holds(fresh))

  const began = performance.now()
  await context.inject(() => Promise.all(site.nodes.map(({ proxy }) => proxy.set({ kind: 'refuse' }))))
  const load = startSteadyLoad({ rate: Math.min(50, context.rate), draw: () => context.random.of(loaded), meter })
  load.phase('found')
  await wait(FOUND_MS)
  await eventually(() => holds(marked), 5000).catch(() => undefined)
  load.phase('outage')
  isCertain = true
  const time = context.duration(outage, LEAST_OUTAGE_MS)
  const writes: { ms: number; status: number }[] = []
  const notReady: string[] = []
  const outageOver = performance.now() + 0.8 * time
  while (performance.now() < outageOver) {
    const sample = await write(context.random.of(REGISTERS), context.random.of(urls))
    writes.push({ ms: sample?.ms ?? 0, status: sample?.status ?? 0 })
    for (const replica of replicas) {
      const status = await replica.readiness()
      if (status !== 200) notReady.push(`${status}`)
    }
    await wait(time / 40)
  }
  await context.inject(() => redis.pause())
  load.phase('without Redis')
  await wait(0.2 * time)
  await context.inject(() => redis.resume())
  await site.report()
  isCertain = false
  await context.inject(() => Promise.all(site.nodes.map(({ proxy }) => proxy.set({ kind: 'pass' }))))
  const returned = performance.now()
  load.phase('return')
  await eventually(() => holds(fresh), 3 * FRESH_MS).catch(() => undefined)
  const untilFresh = performance.now() - returned
  const { maxConcurrent, tooMany } = await site.report()
  const phases = await load.stop()
  const served = [phases.outage, phases['without Redis']].flatMap((phase) => phase?.samples ?? [])
  const wrong = served.flatMap(({ failure }) => failure ?? [])
  const part = served.length === 0 ? 0 : 1 - wrong.length / served.length
  const refused = writes.filter(({ status }) => status === 503)
  return [
    effect('reads while no node answered', served.length, served.length > 50 && performance.now() - began > time),
    figure(
      `answered right, of ${served.length}${wrong.length > 0 ? `; ${wrong[0]}` : ''}`,
      `${(100 * part).toFixed(2)} %`,
      '≥ 99 %',
      part >= 0.99,
    ),
    none('answered without a mark', unmarked),
    figure(`writes refused with 503, of ${writes.length}`, refused.length, 'all', refused.length === writes.length),
    context.within('slowest of them', Math.max(0, ...refused.map(({ ms }) => ms)), WRITE_MS),
    none('/readyz other than 200', notReady),
    context.within('fresh after the return', untilFresh, FRESH_MS),
    figure('calls at once at the return', maxConcurrent, `≤ ${IN_FLIGHT}`, maxConcurrent <= IN_FLIGHT),
    figure('calls that the nodes refused with 429', tooMany, '0', tooMany === 0),
  ]
}

export const outagePromises: readonly FaultPromise[] = [
  {
    id: 'R34',
    title: 'No node answers for minutes, at last without Redis: reads are answered, marked and not older than a write',
    planted: 'the nodes answer, and the store of the coherence check sets no write fence',
    async run(context) {
      const release5 = await figuresOf(context, context.keep(await startRelease5()), OUTAGE_OF_RELEASE_5_MS)
      return [
        ...(await figuresOf(context, context.keep(await startRegisters()), OUTAGE_MS)),
        ...release5.map((each) => ({ ...each, name: `release 5.0: ${each.name}` })),
        ...(await coherenceDuring(context, 'nodes refuse', 'inOutage')),
        ...(await coherenceDuring(context, 'nodes hang', 'inOutage')),
      ]
    },
  },
]
