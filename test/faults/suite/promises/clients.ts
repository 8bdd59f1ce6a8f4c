/** R18, R19, R20 and R32: slow clients, clients that disconnect and that leave a queue, and large bodies over a long time. */
import { connect } from 'node:net'
import { eventually } from '../../../support/eventually.ts'
import { startRedis } from '../../../support/redis.ts'
import { sumOf } from '../../../support/scrape.ts'
import { forkScript } from '../../../support/typescript/script.ts'
import { startLoad } from '../../coherence/load.ts'
import { createWriteLog } from '../../coherence/write-log.ts'
import { affordableRate, sendAll } from '../calls.ts'
import { leaveAll, violationsOf, wrongWritesOf } from '../departures.ts'
import { type EdgeProcess, headers, startEdgeProcess } from '../edge-process.ts'
import { type Call, durationOf, type Phase, phaseOf, type Sample, startSteadyLoad } from '../load.ts'
import { effect, type FaultPromise, type Figure, figure, none, type RunContext } from '../promise.ts'
import { startNodeUpstream } from '../upstream.ts'

/** The requests that the edge remembers. */
const RING_SIZE = 10_000

const MIB = 1024 * 1024
const NOISE_MS = 50
/** Slow connections are closed after the time limit of the headers (5 s) and its check. */
const CLOSED_MS = 10_000
const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
const megabytes = (bytes: number) => `${(bytes / MIB).toFixed(1)} MiB`

/** Opens the connections from another process. Resolves with the lifetimes when all are closed. */
function startSlowClients(context: RunContext, port: number, count: number): Promise<readonly number[]> {
  const child = forkScript(new URL('../slow-clients-child.ts', import.meta.url), [String(port), String(count)])
  context.keep({ close: async () => void child.kill('SIGKILL') })
  return new Promise((resolve) => child.once('message', (lifetimes) => resolve(lifetimes as readonly number[])))
}

const slowClients: FaultPromise = {
  id: 'R18',
  title: '2,000 slow clients: other clients are unaffected, and slow connections are closed',
  planted: 'the time limit of headers is two minutes',
  async run(context): Promise<readonly Figure[]> {
    const upstream = context.keep(await startNodeUpstream({ delay: 3 }))
    const settings = context.planted ? { listen: { timeouts: { headers: '2m', body: '3m' } } } : {}
    const edge = context.keep(await startEdgeProcess({ nodes: upstream.nodes, settings }))
    const draw = (): Call => ({ origin: edge.url, path: `/agents/${100 + context.random.below(50)}`, headers })
    const meter = context.meter(upstream, edge)
    const rate = await affordableRate(Math.min(100, context.rate), draw)
    const load = startSteadyLoad({ rate, draw, meter })
    load.phase('warming')
    await eventually(() => load.current().requests >= 60)
    load.phase('before')
    await wait(context.duration(5000, 2000))
    const memory = await edge.memory()
    load.phase('during')
    const slow = context.count(2000, 200)
    const all = startSlowClients(context, edge.port, slow)
    const lifetimes = await Promise.race([all, wait(2 * CLOSED_MS + context.allowance).then(() => undefined)])
    const grown = (await edge.memory()) - memory
    const { before, during } = await load.stop()
    if (!before || !during) throw new Error('a phase is missing')
    context.requireCalm(before.p99)
    const sorted = [...(lifetimes ?? [Number.POSITIVE_INFINITY])].sort((a, b) => a - b)
    const connected = sorted.filter((ms) => ms > 3000).length
    const limit = Math.max(2 * before.p99, before.p99 + NOISE_MS)
    return [
      effect('slow connections accepted', connected, connected >= slow * 0.9),
      context.within('longest slow connection', sorted.at(-1) ?? 0, CLOSED_MS),
      none(`failures of ${during.requests} other requests`, [...before.failures, ...during.failures]),
      context.within(`their p99 (base ${before.p99.toFixed(1)})`, during.p99, limit),
      figure('memory', megabytes(grown), '≤ 100 MiB', grown <= 100 * MIB),
    ]
  },
}

/** Sends a request and resets the connection after a time, usually before the response. */
function leave(edge: EdgeProcess, path: string, ms: number): Promise<boolean> {
  return new Promise((resolve) => {
    let answered = false
    const socket = connect(edge.port, '127.0.0.1')
    socket.on('error', () => undefined).on('close', () => resolve(!answered))
    socket.on('data', () => {
      answered = true
    })
    socket.on('connect', () => {
      socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: ${headers.authorization}\r\n\r\n`)
      setTimeout(() => socket.resetAndDestroy(), ms)
    })
  })
}

const disconnects: FaultPromise = {
  id: 'R19',
  title: 'Half of the clients disconnect midway: the others are answered, and nothing leaks',
  planted: 'no client disconnects',
  async run(context) {
    const upstream = context.keep(await startNodeUpstream({ steady: 10 }))
    const limits = { inFlight: 64, queue: 10_000 }
    const edge = context.keep(await startEdgeProcess({ nodes: upstream.nodes, settings: { cluster: { limits } } }))
    const call = (at: number): Call => ({ origin: edge.url, path: `/agents/${1000 + (at % 500)}`, headers })
    const few = Array.from({ length: 100 }, (_, at) => call(at))
    await sendAll(few, 8)
    const files = await edge.openFiles()
    // A process that has served few requests is small: its memory counts from the middle of the run.
    let memory = Number.POSITIVE_INFINITY
    const rounds = context.count(100_000 / 200, 5)
    const stayed: Awaited<ReturnType<typeof sendAll>>[] = []
    let left = 0
    for (let round = 0; round < rounds; round += 1) {
      if (round === Math.floor(rounds / 2)) memory = await edge.memory()
      const base = round * 100
      const leaving = Array.from({ length: 100 }, (_, at) =>
        leave(edge, call(base + at).path, context.random.below(12)),
      )
      stayed.push(
        await sendAll(
          Array.from({ length: 100 }, (_, at) => call(base + at)),
          16,
        ),
      )
      if (!context.planted) left += (await Promise.all(leaving)).filter(Boolean).length
    }
    const samples = stayed.flat()
    await sendAll(few, 8)
    const isBack = async () => (await edge.openFiles()) <= files + 5
    await eventually(isBack, 15_000).catch(() => undefined)
    const after = await edge.openFiles()
    const grown = (await edge.memory()) - memory
    return [
      effect('clients that left before the response', left, left > rounds * 10),
      none(`failures of ${samples.length} requests of clients that stayed`, phaseOf(samples).failures),
      figure('open files', `${files} → ${after}`, '+ 5', after <= files + 5),
      // V8 collects its old objects late: less growth than this is no leak.
      figure('growth of memory in the second half', megabytes(grown), '≤ 100 MiB', grown <= 100 * MIB),
    ]
  },
}

/** Returns the slope of the least squares through the points, per minute. */
function slopePerMinute(points: readonly { readonly at: number; readonly bytes: number }[]): number {
  const n = points.length
  const mean = (of: (point: (typeof points)[0]) => number) => points.reduce((sum, point) => sum + of(point), 0) / n
  const [time, size] = [mean(({ at }) => at), mean(({ bytes }) => bytes)]
  const above = points.reduce((sum, { at, bytes }) => sum + (at - time) * (bytes - size), 0)
  const below = points.reduce((sum, { at }) => sum + (at - time) ** 2, 0)
  return (60_000 * above) / below
}

/** After this number of misses, the ring of the last requests and the records of the console (half as many) are full. */
const FILLING_REQUESTS = RING_SIZE
/** Few at a time: V8 does not return what the heap of a burst took. */
const FILLING_CLIENTS = 2
const ROUND_MS = 20_000
/** Bytes per minute: with 300 requests a minute, a leak of 900 bytes per request is found. */
const MAX_GROWTH = MIB / 4

/** A plugin that keeps 1 KiB of each request. */
const LEAK = `
const kept = []
export default async function leak(app) {
  app.addHook('onResponse', async () => void kept.push(Buffer.alloc(1024)))
}
leak[Symbol.for('skip-override')] = true`

const memory: FaultPromise = {
  id: 'R20',
  title: 'Large bodies over a long time: memory does not grow; a body over the limit is 502',
  planted: 'a plugin keeps 1 KiB of each request, and the limit of a response is as large as the body',
  async run(context) {
    const upstream = context.keep(await startNodeUpstream())
    // The same limits as by default, at a size that this machine can send for an hour.
    const response = context.planted ? '64MiB' : '8MiB'
    const settings = {
      cluster: { limits: { response } },
      cache: { localBytes: '32MiB' },
      ...(context.planted && { plugins: [{ file: 'leak.mjs', listener: 'clients' }] }),
    }
    const files = { 'leak.mjs': LEAK }
    const edge = context.keep(await startEdgeProcess({ nodes: upstream.nodes, settings, files, hasHeapHook: true }))
    const filling = Array.from({ length: context.count(FILLING_REQUESTS, 50) }, (_, at) => ({
      origin: edge.url,
      path: `/agents/${1000 + at}`,
      headers,
    }))
    const filled = phaseOf(await sendAll(filling, FILLING_CLIENTS))
    upstream.behave({ delay: 0, heedsBypass: true, padding: 2 * MIB })
    const verify: Call['verify'] = ({ status, text }) =>
      status === 200 && text.length > 2 * MIB ? undefined : `${status} ${text.length} bytes`
    const draw = (): Call => ({ origin: edge.url, path: `/agents/${100 + context.random.below(100)}`, headers, verify })
    const points: { at: number; bytes: number }[] = []
    const rounds: Phase[] = []
    let peak = 0
    const time = context.duration(6 * 60_000, 10_000)
    for (const until = performance.now() + time; performance.now() < until; ) {
      const load = startSteadyLoad({ rate: 5, draw })
      load.phase('round')
      const end = performance.now() + Math.min(ROUND_MS, time / 2)
      while (performance.now() < end) {
        await wait(Math.min(1000, time / 20))
        peak = Math.max(peak, await edge.memory())
      }
      const { round } = await load.stop()
      if (round) rounds.push(round)
      // No request is in flight.
      points.push({ at: performance.now(), bytes: await edge.held() })
    }
    const slope = slopePerMinute(points.slice(points.length / 2))
    const requests = rounds.reduce((sum, round) => sum + round.requests, 0)
    upstream.behave({ delay: 0, heedsBypass: true, padding: 10 * MIB })
    const [large] = await sendAll([{ origin: edge.url, path: '/agents/999', headers }], 1)
    upstream.behave({ delay: 0, heedsBypass: true })
    const [next] = await sendAll([{ origin: edge.url, path: '/agents/998', headers }], 1)
    // The slope of a short run is that of a few responses.
    const isLong = time >= 5 * 60_000
    const growth = `${megabytes(slope)} per minute`
    const ofPlanted = [
      ...(isLong ? [figure('growth of what is held, second half', growth, '< 0.25 MiB', slope < MAX_GROWTH)] : []),
      figure('a body over the limit', large?.status ?? 0, '502', large?.status === 502),
    ]
    // Each of the defects must be found.
    if (context.planted) return ofPlanted.some(({ pass }) => pass) ? [] : ofPlanted
    return [
      effect('responses of 2 MiB', requests, requests > 20),
      none(
        'failures',
        [filled, ...rounds].flatMap(({ failures }) => failures),
      ),
      ...ofPlanted,
      figure('largest memory', megabytes(peak), '≤ 400 MiB', peak <= 400 * MIB),
      figure('the next request', next?.status ?? 0, '200', next?.failure === undefined),
    ]
  },
}

const CALL_MS = 400
const LEAVING_CLIENTS = 100
const NEXT_READER_MS = 2_000
/** Of the calls that only clients that have left wanted: those that are in flight when they leave. */
const MAX_SENT_SHARE = 0.3

const departures: FaultPromise = {
  id: 'R32',
  title: '100 clients leave a slow node: their queued calls are dropped, and no read is stale',
  planted: 'no client leaves',
  async run(context) {
    const upstream = context.keep(await startNodeUpstream({ steady: CALL_MS }))
    const redis = context.keep(await startRedis())
    const settings = {
      operations: { metrics: 'open' },
      cache: { redis: { url: redis.url }, snapshots: { groups: [] } },
    }
    const start = async () => context.keep(await startEdgeProcess({ nodes: upstream.nodes, settings }))
    const replicas = await Promise.all([start(), start()])
    const meter = context.meter(upstream, ...replicas)
    const writeLog = createWriteLog()
    let isOver = false
    const load = startLoad({
      replicas: replicas.map(({ url }) => url),
      operations: Number.POSITIVE_INFINITY,
      callers: 4,
      random: context.random,
      patience: 60_000,
      interval: 200,
      onOutcome: writeLog.add,
      enough: () => isOver,
    })
    const ports = replicas.map(({ port }) => port)
    const rounds = context.count(30, 2)
    const paths: string[] = []
    const readers: Sample[] = []
    for (let round = 0; round < rounds; round += 1) {
      const leaving = { ports, clients: LEAVING_CLIENTS, within: 60, random: context.random, stay: context.planted }
      paths.push(...(await leaveAll(leaving)))
      // The edge has received all requests, and that the clients have left.
      await wait(200)
      const call = { origin: context.random.of(replicas).url, path: `/agents/${1000 + round}`, headers }
      readers.push(...(await sendAll([call], 1, meter)))
    }
    isOver = true
    const { history, reads, hits } = await load.finished
    const counts = await Promise.all(replicas.map((replica) => replica.metrics()))
    const dropped = sumOf(counts.flat(), 'edge_node_refused_total', { reason: 'abandoned' })
    const { byPath } = await upstream.report()
    const sent = [...new Set(paths)].filter((path) => byPath[`GET ${path}`] !== undefined).length / paths.length
    const violations = violationsOf(history)
    return [
      effect('queued calls dropped', dropped, context.planted || dropped >= rounds * 10),
      context.within('longest wait of the next reader', Math.max(...readers.map(durationOf)), NEXT_READER_MS),
      none('failures of the next readers', phaseOf(readers).failures),
      figure('sent for clients that left', `${(100 * sent).toFixed(0)} %`, '≤ 30 %', sent <= MAX_SENT_SHARE),
      figure(`wrong reads of ${reads}, ${hits} of them hits`, violations.length, '0', violations.length === 0),
      none('writes sent although refused, or twice', wrongWritesOf(writeLog, byPath)),
    ]
  },
}

export const clientPromises: readonly FaultPromise[] = [slowClients, disconnects, memory, departures]
