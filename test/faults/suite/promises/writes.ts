/** R14, R15 and R17: unknown outcomes, changes that bypass the edge, and connections that a node closes. */
import { eventually } from '../../../support/eventually.ts'
import { affordableRate, sendAll } from '../calls.ts'
import { headers, startEdgeProcess } from '../edge-process.ts'
import { type Call, phaseOf, type Reply, startSteadyLoad } from '../load.ts'
import { effect, type FaultPromise, type Figure, figure, none } from '../promise.ts'
import { type NodeUpstream, startNodeUpstream } from '../upstream.ts'

const TIMEOUT_MS = 1000
const LATE_MS = 2000
/** Writes at once. */
const CONCURRENT_WRITES = 100
const UNKNOWN_OUTCOME = 923

const register = (at: number) => String(1000 + at)
const groupOf = (at: number) => `/agents/${register(at)}/group/web`
const registerValue = (text = '') => Number(/"value":(\d+)/.exec(text)?.[1] ?? Number.NaN)

/** A write whose outcome is unknown, or one that was shed before it was sent. */
const verifyUnsure = ({ status, headers: received, text }: Reply) => {
  const isUnknown = status === 504 && text.includes(`"error":${UNKNOWN_OUTCOME}`)
  const isShed = status === 503 && Number(received['retry-after']) >= 1
  return isUnknown || isShed ? undefined : `${status} ${text.slice(0, 160)}`
}

const unknownOutcome: FaultPromise = {
  id: 'R14',
  title: 'A write without an answer in time: 504 with its own code, sent once, nothing older served later',
  planted: 'the node answers in time',
  async run(context): Promise<readonly Figure[]> {
    const upstream = context.keep(await startNodeUpstream())
    const timeout = `${TIMEOUT_MS}ms`
    const limits = { inFlight: CONCURRENT_WRITES, timeout, slowTimeout: timeout }
    const settings = { cluster: { limits }, cache: { ttl: { agents: '60s' } } }
    const edge = context.keep(await startEdgeProcess({ nodes: upstream.nodes, settings }))
    const read = (at: number, origin = edge.url): Call => ({ origin, path: `/agents/${register(at)}`, headers })
    const put = (at: number): Call => ({ ...read(at), path: groupOf(at), method: 'PUT', verify: verifyUnsure })
    const stored = Array.from({ length: 20 }, (_, at) => read(at))
    await sendAll(stored, 4)
    await context.inject(() =>
      upstream.behave({ delay: 0, heedsBypass: true, slow: { path: '/group/web', ms: LATE_MS } }),
    )
    const samples: Awaited<ReturnType<typeof sendAll>>[number][] = []
    const lateSamples = () => samples.filter(({ status }) => status === 504)
    const rounds = context.count(10_000 / CONCURRENT_WRITES, 2)
    const enough = context.count(300, 50)
    // On busy cores the node gets fewer calls in a round.
    for (let round = 0; round < rounds || (lateSamples().length < enough && round < 5 * rounds); round += 1) {
      samples.push(
        ...(await sendAll(
          Array.from({ length: CONCURRENT_WRITES }, (_, at) => put(round * CONCURRENT_WRITES + at)),
          CONCURRENT_WRITES,
        )),
      )
      // The timeouts eject the node, until a read succeeds.
      await eventually(async () => (await sendAll([read(100_000 + round)], 1))[0]?.failure === undefined)
    }
    const late = lateSamples()
    const counts = await countsOf(
      upstream,
      late.map(({ path }) => path),
    )
    const again = counts.filter((count) => count > 1).length
    const after = await sendAll(stored, 4)
    const carriedOut = await sendAll(
      stored.map((call) => ({ ...call, origin: upstream.url })),
      4,
    )
    const truth = new Map(carriedOut.map(({ path, reply }) => [path, registerValue(reply?.text)]))
    const old = after.filter(({ path, reply }) => registerValue(reply?.text) !== truth.get(path))
    return [
      // The node gets few calls at once while it answers late. The other writes are shed: nothing of them was sent.
      effect(`writes without an answer in time, of ${samples.length}`, late.length, late.length >= enough),
      none(`other answers than 504/${UNKNOWN_OUTCOME} and sheds, of ${samples.length}`, phaseOf(samples).failures),
      figure('writes that the node received twice', again, '0', again === 0),
      none(
        'old values served after the node had carried them out',
        old.map(({ path }) => path),
      ),
    ]
  },
}

/** Returns how often the node received each of the writes, when it has carried them out. */
async function countsOf(upstream: NodeUpstream, paths: readonly string[]): Promise<number[]> {
  await new Promise((resolve) => setTimeout(resolve, LATE_MS))
  const { byPath } = await upstream.report()
  return paths.map((path) => byPath[`PUT ${path}`] ?? 0)
}

/** R17 sends 100,000 requests, or as many as it can in this time. */
const MAX_LOAD_MS = 6 * 60_000

interface Group {
  readonly path: string
  readonly name: string
  /** Seconds: fresh, and stale while it is refreshed. */
  readonly ttl: number
  readonly stale: number
}

const GROUPS: readonly Group[] = [
  { path: '/agents/001', name: 'agents', ttl: 5, stale: 0 },
  { path: '/syscollector/001/packages', name: 'syscollector', ttl: 5, stale: 5 },
  { path: '/rules', name: 'rules', ttl: 60, stale: 0 },
]

const bypassed: FaultPromise = {
  id: 'R15',
  title: 'A change that bypasses the edge is visible within the TTL of its group',
  planted: 'the TTL is ten times as long',
  async run(context) {
    const upstream = context.keep(await startNodeUpstream())
    const scale = Math.max(0.05, Math.min(1, context.scale))
    const seconds = (value: number) => `${Math.round(1000 * value * scale * (context.planted ? 10 : 1))}ms`
    const ttl = Object.fromEntries(GROUPS.map(({ name, ttl: time }) => [name, seconds(time)]))
    const staleWhileRevalidate = { syscollector: seconds(5) }
    const settings = { cache: { ttl, staleWhileRevalidate, divergenceCheck: { sampleRatio: 0 } } }
    const edge = context.keep(await startEdgeProcess({ nodes: upstream.nodes, settings }))
    const write = async () =>
      void (await sendAll([{ origin: upstream.url, path: '/agents/001/group/web', method: 'PUT' }], 1))
    await write()
    const read = async (path: string) => (await sendAll([{ origin: edge.url, path, headers }], 1))[0]?.reply
    const visible = GROUPS.map(async ({ path, name, ttl: time, stale }): Promise<Figure[]> => {
      const stored = await read(path)
      await written
      const begin = performance.now()
      let late = 0
      await eventually(
        async () => {
          if (registerValue((await read(path))?.text) >= 2) return true
          late = performance.now() - begin
          return false
        },
        11 * (time + stale) * 1000,
      )
      return [
        effect(`${name}: old value stored`, registerValue(stored?.text), registerValue(stored?.text) === 1),
        context.within(`${name}: last old value served after`, late, (time + stale) * 1000 * scale + 100),
      ]
    })
    const first = Promise.all(GROUPS.map(({ path }) => read(path)))
    const written = first.then(write)
    return (await Promise.all(visible)).flat()
  },
}

const idleConnections: FaultPromise = {
  id: 'R17',
  title: 'Nodes close idle connections at random: no read fails, no write is sent twice',
  planted: 'the node resets every tenth request',
  async run(context) {
    const upstream = context.keep(await startNodeUpstream({ delay: 3 }))
    const settings = { cluster: { limits: { inFlight: 32 } }, cache: { enabled: false } }
    const edge = context.keep(await startEdgeProcess({ nodes: upstream.nodes, settings }))
    const [node] = upstream.nodes
    await node?.proxy.set(context.planted ? { kind: 'cut', after: 20 } : { kind: 'idleClose', least: 1, most: 40 })
    let at = 0
    const draw = (): Call => {
      at += 1
      const read: Call = { origin: edge.url, path: '/agents/001', headers }
      return at % 10 === 0 ? { ...read, kind: 'write', method: 'PUT', path: groupOf(at) } : read
    }
    const rate = context.planted ? context.rate : await affordableRate(2 * context.rate, draw)
    const load = startSteadyLoad({ rate, draw })
    load.phase('all')
    const requests = context.count(100_000, 400)
    // On a busy machine the rate is low, and the run still ends.
    const latest = performance.now() + context.duration(MAX_LOAD_MS, 20_000)
    while (load.current().requests < requests && performance.now() < latest) {
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    const { all } = await load.stop()
    const { byPath } = await upstream.report()
    const duplicates = Object.entries(byPath).filter(([name, count]) => name.startsWith('PUT') && count > 1)
    const [reads, writes] = [all?.of('read'), all?.of('write')]
    const closed = node?.proxy.idleCloses() ?? 0
    const limit = Math.ceil((writes?.requests ?? 0) / 10_000)
    return [
      ...(context.planted ? [] : [effect('connections closed while idle', closed, closed > 10)]),
      none(`failures of ${reads?.requests} reads`, reads?.failures ?? []),
      figure(
        `failures of ${writes?.requests} writes`,
        writes?.failures.length ?? 0,
        `≤ ${limit}`,
        (writes?.failures.length ?? 0) <= limit,
      ),
      none(
        'writes that the node received twice',
        duplicates.map(([name]) => name),
      ),
    ]
  },
}

export const writePromises: readonly FaultPromise[] = [unknownOutcome, bypassed, idleConnections]
