/** R7 and R8: one node of a cluster is black-holed or responds with garbage, and the edge joins the others. */
import type { Fault as NodeFault } from '../../../../packages/simulator/src/index.ts'
import { eventually } from '../../../support/eventually.ts'
import { sumOf } from '../../../support/scrape.ts'
import type { Fault as ProxyFault } from '../../proxy.ts'
import { affordableRate, sendAll } from '../calls.ts'
import { type ClusterProcess, startClusterProcess } from '../cluster-process.ts'
import { type EdgeProcess, headers, startEdgeProcess } from '../edge-process.ts'
import { type Call, durationOf, phaseOf, type Reply, startSteadyLoad, verifyData } from '../load.ts'
import { effect, type FaultPromise, type Figure, figure, none, type RunContext } from '../promise.ts'

const WORKERS = 5
const VICTIM = 'worker-3'
const DEADLINE_MS = 2000
/** A share of a p99 of a few milliseconds is less than the noise of a measurement. */
const NOISE_MS = 50
const JOINED = '/experimental/syscollector/os?limit=100'

async function startCluster(context: RunContext, cached: boolean) {
  const cluster = context.keep(await startClusterProcess({ workers: WORKERS, agents: 30, distributed: false }))
  const settings = {
    cluster: {
      distribution: 'edge',
      limits: { inFlight: 32, timeout: `${DEADLINE_MS}ms`, slowTimeout: `${DEADLINE_MS}ms` },
    },
    cache: { enabled: cached },
  }
  return { cluster, edge: context.keep(await startEdgeProcess({ nodes: cluster.nodes, settings })) }
}

/** Returns the nodes that a joined response names as failed. */
function failedNodes({ headers: received }: Reply): string[] {
  const members = String(received['cluster-status'] ?? '').split(', ')
  return members.filter((member) => /;error=/.test(member)).map((member) => member.split(';')[0] ?? '')
}

/** A joined response has data; whether a node failed is for `isRight`. */
const joined = (origin: string, isRight: (failed: readonly string[]) => boolean): Call => ({
  origin,
  path: JOINED,
  headers,
  kind: 'joined',
  verify: (reply) => {
    const failed = failedNodes(reply)
    return verifyData(reply) ?? (isRight(failed) ? undefined : `failed nodes: ${failed.join(',') || 'none'}`)
  },
})

const blackHole: FaultPromise = {
  id: 'R7',
  title: 'A node is black-holed: joined responses name it in time, the other nodes are unaffected',
  planted: 'the node is not black-holed',
  async run(context): Promise<readonly Figure[]> {
    const { cluster, edge } = await startCluster(context, false)
    const healthy = cluster.nodes.filter(({ name, type }) => type === 'worker' && name !== VICTIM)
    let expected: (failed: readonly string[]) => boolean = (failed) => failed.length === 0
    const draw = (): Call =>
      context.random.chance(0.3)
        ? joined(edge.url, (failed) => expected(failed))
        : { origin: edge.url, path: `/cluster/${context.random.of(healthy).name}/info`, headers, kind: 'other' }
    const meter = context.meter(cluster, edge)
    const rate = await affordableRate(Math.min(40, context.rate), draw)
    const load = startSteadyLoad({ rate, draw, meter })
    const time = context.duration(10_000, 3000)
    const wait = () => new Promise((resolve) => setTimeout(resolve, time))
    load.phase('warming')
    await eventually(() => load.current().requests >= 60)
    load.phase('before')
    await wait()
    // A response that began before the fault may arrive during it, with or without the node.
    expected = (failed) => failed.every((name) => name === VICTIM)
    load.phase('during')
    const injectedAt = performance.now()
    await context.inject(() => cluster.node(VICTIM).proxy.set({ kind: 'stall' }))
    const isEjected = async () => sumOf(await edge.metrics(), 'edge_node_ejected', { node: VICTIM }) === 1
    // In a planted run the node is never ejected. Otherwise it is, though late if the cores are busy.
    await eventually(isEjected, (context.planted ? 1 : 15) * DEADLINE_MS).catch(() => undefined)
    const ejected = await isEjected()
    load.phase('between')
    await new Promise((resolve) => setTimeout(resolve, DEADLINE_MS))
    if (ejected) expected = (failed) => failed.join() === VICTIM
    load.phase('ejected')
    await wait()
    const phases = await load.stop()
    const { during, ejected: after } = phases
    if (!phases.before || !during || !after) throw new Error('a phase is missing')
    // The last requests of the phase may have met the fault.
    const before = phaseOf(phases.before.samples.filter(({ begin, ms }) => begin + ms < injectedAt))
    context.requireCalm(before.p99)
    const base = { joined: before.of('joined').p99, other: before.of('other').p99 }
    const slowest = Math.max(0, ...during.of('joined').samples.map(durationOf))
    const afterEjection = after.of('joined').samples
    const slow = afterEjection.filter((sample) => durationOf(sample) > base.joined + 50 + context.allowance).length
    // The probes of an ejected node are client requests, after 1 s, 2 s, 4 s and so on.
    const probes = 1 + Math.ceil(Math.log2(time / 1000 + 1))
    // A p99 of a few dozen calls would be the slowest one alone, so the calls over its limit are counted.
    const others = phaseOf([during, phases.between, after].flatMap((phase) => phase?.of('other').samples ?? []))
    // What was subtracted for want of a processor is exact to about half.
    const starved = phaseOf(others.samples.map((each) => ({ ...each, ms: each.starved ?? 0, starved: 0 }))).p99 / 2
    const otherLimit = Math.max(1.2 * base.other, base.other + NOISE_MS) + starved + context.allowance
    const slowOthers = others.samples.filter((sample) => durationOf(sample) > otherLimit).length
    return [
      effect(`${VICTIM} ejected`, ejected ? 'yes' : 'no', ejected),
      none(
        'wrong or unlabelled responses',
        Object.values(phases).flatMap(({ failures }) => failures),
      ),
      context.within('slowest joined response before the ejection', slowest, DEADLINE_MS + 100),
      figure(
        `calls of other nodes over ${otherLimit.toFixed(0)} ms, of ${others.requests} (p99 ${others.p99.toFixed(1)}, base ${base.other.toFixed(1)})`,
        slowOthers,
        '≤ 1 %, at least 2',
        slowOthers <= Math.max(2, others.requests / 100),
      ),
      figure(
        `joined responses over ${(base.joined + 50).toFixed(0)} ms after it, of ${afterEjection.length}`,
        slow,
        `≤ 1 %, or one per probe (${probes})`,
        slow <= Math.max(probes, afterEjection.length / 100),
      ),
    ]
  },
}

interface BadResponse {
  readonly name: string
  readonly proxy?: ProxyFault
  readonly node?: NodeFault
}

const BAD_RESPONSES: readonly BadResponse[] = [
  { name: 'drip', proxy: { kind: 'drip', ms: 50 } },
  { name: 'truncated', node: { truncate: 10 } },
  { name: 'cut', proxy: { kind: 'cut', after: 120 } },
  { name: 'half-closed', proxy: { kind: 'halfClose' } },
  { name: 'RST', proxy: { kind: 'reset' } },
  { name: 'status 500', node: { status: 500 } },
  { name: 'HTML', node: { html: true } },
  { name: 'error 1017', node: { error: 1017 } },
]

const badResponses: FaultPromise = {
  id: 'R8',
  title: 'A node responds with garbage: joined responses name it in time, and nothing of it is stored',
  planted: 'the node responds well',
  async run(context) {
    const { cluster, edge } = await startCluster(context, true)
    const figures: Figure[] = []
    for (const bad of BAD_RESPONSES) figures.push(...(await figuresOf(context, { bad, cluster, edge })))
    return figures
  },
}

interface Trial {
  readonly bad: BadResponse
  readonly cluster: ClusterProcess
  readonly edge: EdgeProcess
}

async function figuresOf(context: RunContext, { bad, cluster, edge }: Trial): Promise<Figure[]> {
  const call = joined(edge.url, (failed) => failed.length === 0)
  const read = async () => (await sendAll([call], 1))[0]?.reply
  const purge = () => sendAll([{ origin: edge.url, path: '/cache', method: 'DELETE', headers }], 1)
  await purge()
  await eventually(
    async () => /"totalItems"/.test((await read())?.text ?? '') && failedNodes(await mustBe(read())).length === 0,
  )
  const whole = (await mustBe(read())).text
  await purge()
  await context.inject(async () => {
    if (bad.proxy) await cluster.node(VICTIM).proxy.set(bad.proxy)
    if (bad.node) await cluster.fail(VICTIM, bad.node)
  })
  const reply = await mustBe(read())
  await cluster.recover()
  const named = failedNodes(reply)
  // The node may be ejected for a moment; then a complete response must come without any purge.
  let next = await mustBe(read())
  await eventually(async () => {
    next = await mustBe(read())
    return failedNodes(next).length === 0
  })
  const differs = next.text === whole ? [] : [`${next.text.length} bytes instead of ${whole.length}`]
  return [
    effect(`${bad.name}: failed_nodes`, named.join() || 'none', named.join() === VICTIM),
    context.within(`${bad.name}: joined response`, reply.ms, DEADLINE_MS + 100),
    none(`${bad.name}: wrong response after it`, differs),
  ]
}

async function mustBe(reading: Promise<Reply | undefined>): Promise<Reply> {
  const reply = await reading
  if (reply === undefined) throw new Error('no response')
  return reply
}

export const nodePromises: readonly FaultPromise[] = [blackHole, badResponses]
