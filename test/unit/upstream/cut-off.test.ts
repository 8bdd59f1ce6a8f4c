/**
 * Which replica is cut off: random losses of links between replicas and nodes, each at another time, with reports that are up
 * to two seconds old. Clients of some replicas call all nodes.
 */
import { mock } from 'node:test'
import t, { type Test } from 'tap'
import type { CallNode } from '../../../src/core/node-call.ts'
import type { PeerContact } from '../../../src/core/node-load.ts'
import { NodeHealth } from '../../../src/upstream/failure/health.ts'
import { NodeContacts } from '../../../src/upstream/failure/node-contacts.ts'
import { clusterSettings, get } from './fake-node.ts'

const STEP_MS = 500
const REPORT_INTERVAL_MS = 2_000
const CALL_MS = 5
const CLIENT_INTERVAL_MS = 3_000
const times = { interval: 1_000, slowInterval: 5_000, timeout: 5_000, idleInterval: 15_000 }
/** Until each replica knows of the latest loss: an idle node is called within this time, and its report follows. */
const SETTLED_MS = times.idleInterval + 3 * times.slowInterval + 2 * REPORT_INTERVAL_MS

/** `lostAt`: when the link of a replica to a node is lost, in milliseconds of the test; Infinity: never. */
interface World {
  readonly lostAt: readonly (readonly number[])[]
  /** Whether the replica has clients. */
  readonly hasClients: readonly boolean[]
}

const nodeNames = (world: World) => (world.lostAt[0] ?? []).map((_, at) => (at === 0 ? 'master' : `worker-${at}`))

/** The health of a node that is never ejected: each probe is a call. */
function healthOf(node: string, clock: () => number): NodeHealth {
  const never = { failures: Number.POSITIVE_INFINITY, refusals: Number.POSITIVE_INFINITY }
  const nothing = () => undefined
  return new NodeHealth({
    node,
    clock,
    ejection: clusterSettings({ ejection: never }).ejection,
    log: nothing,
    probe: async () => 'answered',
    reserveAttempt: async () => undefined,
    onEject: nothing,
    onRecover: nothing,
    rules: () => ({ showsProblems: false }),
  })
}

function startReplicas(t: Test, world: World) {
  mock.timers.enable({ apis: ['setTimeout', 'setInterval'] })
  t.teardown(() => mock.timers.reset())
  let now = 0
  const names = nodeNames(world)
  const nodes = names.map((name, at) => ({
    name,
    type: at === 0 ? ('master' as const) : ('worker' as const),
    addressed: true,
  }))
  const published: { readonly report: Omit<PeerContact, 'ago'>; readonly at: number }[] = []
  const replicas = world.lostAt.map((lostAt, replica) => {
    const call: CallNode = async ({ node }) => {
      const isLost = now >= (lostAt[names.indexOf(node)] ?? 0)
      const failure = { fault: 'unreachable', reason: 'connectionLost' } as const
      const response = { node, status: 200, type: 'application/json', body: Buffer.from('{}') }
      byName.get(node)?.health.record(get('/', { node }), isLost ? { failure } : { response, status: 200 }, CALL_MS)
      return isLost ? { ...failure, ok: false, node, sent: false } : { ok: true, response }
    }
    const byName = new Map(names.map((node) => [node, { health: healthOf(node, () => now) }]))
    const master = nodes[0]
    if (master === undefined) throw new Error('no master')
    const contacts: NodeContacts = new NodeContacts({
      call,
      view: { nodes: () => nodes, master: () => master, layoutOf: () => 'v3' },
      drained: new Map(),
      nodes: byName,
      hasOwnCredentials: true,
      peers: () => published.flatMap((each, at) => (at === replica ? [] : [{ ...each.report, ago: now - each.at }])),
      clock: () => now,
      times,
    })
    return { contacts, call }
  })
  const advance = async () => {
    now += STEP_MS
    mock.timers.tick(STEP_MS)
    for (const [at, { contacts, call }] of replicas.entries()) {
      if (now % times.interval === 0) void contacts.callDue()
      if (world.hasClients[at] && now % CLIENT_INTERVAL_MS === 0)
        for (const node of names) void call(get('/', { node }))
      // The replicas report one after another.
      if ((now + at * STEP_MS) % REPORT_INTERVAL_MS === 0) published[at] = { report: contacts.report(), at: now }
    }
    for (let turn = 0; turn < 10; turn += 1) await null
  }
  return { replicas: replicas.map(({ contacts }) => contacts), advance, now: () => now }
}

const WORLDS = 60
/** All links are up at first, and the latest is lost after this time. */
const [FIRST_LOSS_MS, LAST_LOSS_MS] = [20_000, 120_000]
const OBSERVED_MS = 60_000

/** Numbers from 0 to 1 that are the same for a seed (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** `isOutage`: all links are lost. Otherwise the first replica loses all of its links, and each other one keeps one at least. */
function randomWorld(seed: number, isOutage: boolean): World {
  const random = randomOf(seed)
  const nodes = 1 + Math.floor(random() * 3)
  const lossTime = () => FIRST_LOSS_MS + Math.floor(random() * (LAST_LOSS_MS - FIRST_LOSS_MS))
  const lostAt = Array.from({ length: 2 + Math.floor(random() * 2) }, (_, replica) => {
    const kept = isOutage || replica === 0 ? -1 : Math.floor(random() * nodes)
    return Array.from({ length: nodes }, (_, node) => (node === kept ? Number.POSITIVE_INFINITY : lossTime()))
  })
  // Without clients, a replica does not call a node that another one has called lately.
  return { lostAt, hasClients: lostAt.map((_, replica) => (!isOutage && replica === 0) || random() < 0.5) }
}

/** Returns how often each replica was cut off, and how many times that was looked up, when all have had time to learn of the losses. */
async function observe(t: Test, world: World) {
  const { replicas, advance, now } = startReplicas(t, world)
  const cutOff = replicas.map(() => 0)
  let steps = 0
  while (now() < LAST_LOSS_MS + SETTLED_MS + OBSERVED_MS) {
    await advance()
    if (now() < LAST_LOSS_MS + SETTLED_MS) continue
    steps += 1
    for (const [at, { isCutOff }] of replicas.entries()) if (isCutOff) cutOff[at] = (cutOff[at] ?? 0) + 1
  }
  return { cutOff, steps }
}

for (let seed = 1; seed <= WORLDS; seed += 1) {
  t.test(`world ${seed}: in an outage of all nodes no replica is cut off`, async (t) => {
    const world = randomWorld(seed, true)
    const { cutOff } = await observe(t, world)
    t.ok(
      cutOff.every((times) => times === 0),
      `${cutOff} of ${JSON.stringify(world.lostAt)}`,
    )
  })
  t.test(`world ${seed}: a replica whose clients alone reach no node is cut off all the time`, async (t) => {
    const world = randomWorld(seed, false)
    const { cutOff, steps } = await observe(t, world)
    const [first, ...others] = cutOff
    t.equal(first, steps, `of ${JSON.stringify(world.lostAt)}`)
    t.ok(others.every((times) => times === 0))
  })
}
