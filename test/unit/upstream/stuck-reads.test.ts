/** Reads that hang while the node answers its probes: which of them fail at once, and which are sent as trials. */
import type { ServerResponse } from 'node:http'
import t, { type Test } from 'tap'
import type { NodeCall } from '../../../src/core/node-call.ts'
import { eventually } from '../../support/eventually.ts'
import { clusterOf, envelope, fakeNode, get, put } from './fake-node.ts'

const silence = { minWait: 40, maxWait: 200, probeTimeout: 2_000, probes: 2, pause: 20 }
const TIMEOUT_MS = 400
/** The first trial of a subject that is known follows after this time. */
const baseTime = 1_000

type Read = readonly [path: string, overrides?: Partial<NodeCall>]

const ofAgent = (id: number, overrides: Partial<NodeCall> = {}): Read => [
  `/syscheck/${id}`,
  { agentData: `${id}`, endpoint: 'GET /syscheck/:agent_id', ...overrides },
]

/** A node that leaves some calls without a response. */
async function start(t: Test, hangs: (url: string) => boolean, ejection = {}) {
  let isHanging = true
  const held: (() => void)[] = []
  const node = await fakeNode(t, (request, response: ServerResponse) => {
    if (isHanging && hangs(request.url ?? '')) held.push(() => envelope(request, response))
    else envelope(request, response)
  })
  const logged: string[] = []
  const cluster = clusterOf(t, node.url, {
    ejection: { silence, baseTime, ...ejection },
    limits: { inFlight: 8 },
    log: (_, message) => logged.push(message),
  })
  const read = ([path, overrides]: Read) => cluster.call(get(path, { timeout: TIMEOUT_MS, ...overrides }))
  const sent = (path: string) => node.seen.filter(({ url }) => url === path).length
  const recover = () => {
    isHanging = false
    for (const answer of held.splice(0)) answer()
  }
  return { ...cluster, read, sent, recover, logged, hangs: () => cluster.status()[0]?.hangs === true }
}

const AGENTS = /^\/syscheck/
const ALL_BUT_PROBES = /^\/(?!$|version$)/
const OTHERS = ['/agents', '/groups', '/manager/status'].map((path): Read => [path])
/** In mode `manager` only the manager knows whether it passes the calls on. */
const passedOn = { mayBePassedOn: true } as const

interface Row {
  readonly name: string
  readonly hanging: RegExp
  readonly lost: readonly Read[]
  /** Whether the node is shown as one that hangs. Absent: if reads fail at once. */
  readonly isShown?: boolean
  /** Reads that then fail at once, and those that are sent. */
  readonly stuck: readonly Read[]
  readonly sent: readonly Read[]
}

const ROWS: readonly Row[] = [
  {
    name: 'the databases of three agents hang: reads of all three, and no others',
    hanging: AGENTS,
    lost: [ofAgent(1), ofAgent(2), ofAgent(3)],
    stuck: [ofAgent(1), ofAgent(2)],
    sent: [['/agents'], ['/version']],
  },
  {
    name: 'the same in mode manager',
    hanging: AGENTS,
    lost: [ofAgent(1, passedOn), ofAgent(2, passedOn), ofAgent(3, passedOn)],
    stuck: [ofAgent(1, passedOn), ofAgent(2, passedOn)],
    sent: [['/agents']],
  },
  {
    name: 'everything but probes hangs',
    hanging: ALL_BUT_PROBES,
    lost: [ofAgent(1), ofAgent(2), ofAgent(3), ...OTHERS],
    stuck: [ofAgent(1), ...OTHERS],
    sent: [['/version'], ['/']],
  },
  {
    name: 'one database hangs, whatever is read of it',
    hanging: AGENTS,
    // The third one is sent when the others have ended.
    lost: [
      ofAgent(1),
      ['/syscheck/1?offset=1', { agentData: '1', timeout: 2 * TIMEOUT_MS }],
      ['/syscheck/1?offset=2', { agentData: '1', timeout: 5 * TIMEOUT_MS }],
    ],
    isShown: false,
    stuck: [ofAgent(1), ['/syscheck/1?offset=1', { agentData: '1' }]],
    sent: [['/agents'], ['/sca/2', { agentData: '2' }]],
  },
  {
    name: 'one endpoint hangs',
    hanging: /^\/groups/,
    lost: ['/groups', '/groups?offset=1', '/groups?offset=2'].map((path): Read => [path, { endpoint: 'GET /groups' }]),
    isShown: false,
    stuck: [['/groups', { endpoint: 'GET /groups' }]],
    sent: [['/agents'], ['/rules']],
  },
  {
    name: 'one URL of an endpoint hangs',
    hanging: /^\/groups/,
    lost: [1, 2, 3].map((): Read => ['/groups', { endpoint: 'GET /groups' }]),
    stuck: [],
    sent: [['/agents'], ['/rules']],
  },
  {
    name: 'calls hang that another node may delay',
    hanging: /^\/others/,
    lost: [1, 2, 3].map((id): Read => [`/others/${id}`, passedOn]),
    stuck: [],
    sent: [['/agents'], ['/rules']],
  },
  {
    name: 'calls hang that the node passes on to another one',
    hanging: AGENTS,
    lost: [1, 2, 3].map((id) => ofAgent(id, { passedOnTo: { node: 'w1' } })),
    stuck: [],
    sent: [['/sca/4', { agentData: '4' }]],
  },
]

for (const { name, hanging, lost, stuck, sent, isShown = stuck.length > 0 } of ROWS) {
  t.test(name, async (t) => {
    const { read, hangs, view, call } = await start(t, (url) => hanging.test(url))
    for (const result of await Promise.all(lost.map(read))) t.match(result, { ok: false, fault: 'timeout', sent: true })
    t.equal(hangs(), isShown)
    t.ok(view.isAvailable('master'))
    const began = performance.now()
    for (const each of stuck) t.match(await read(each), { ok: false, sent: false, retryAfter: 1 }, each[0])
    t.ok(performance.now() - began < TIMEOUT_MS, 'at once')
    for (const each of sent) t.match(await read(each), { ok: true }, each[0])
    if (!hanging.test('/a')) t.match(await call(put('/a')), { ok: true }, 'a write')
  })
}

t.test('reads in flight and queued ones end when the databases are found to hang', async (t) => {
  const { read, sent, hangs } = await start(t, (url) => AGENTS.test(url))
  const first = [1, 2, 3].map((id) => read(ofAgent(id)))
  const later = Array.from({ length: 20 }, (_, at) => read(ofAgent(at + 4, { timeout: 60_000 })))
  for (const result of await Promise.all([...first, ...later])) t.match(result, { ok: false, fault: 'timeout' })
  t.ok(hangs())
  t.equal(sent('/syscheck/23'), 0)
})

t.test('reads about one agent count once, and a response to one of another agent in between disproves', async (t) => {
  const { read, hangs } = await start(t, (url) => AGENTS.test(url))
  for (const id of [1, 2, 3]) {
    const lost = read(ofAgent(id))
    t.match(await read(['/sca/9', { agentData: '9' }]), { ok: true })
    t.match(await lost, { fault: 'timeout' })
  }
  for (const result of await Promise.all([1, 2, 1].map((id) => read(ofAgent(id))))) t.match(result, { sent: true })
  t.notOk(hangs())
})

t.test(
  'reads that were sent with little time left show nothing, also if this process is busy when they end',
  async (t) => {
    const { read, sent, hangs } = await start(t, (url) => AGENTS.test(url))
    const ids = [1, 2, 3, 4]
    const lost = ids.map((id) => read(ofAgent(id, { timeout: silence.maxWait / 2 })))
    await eventually(() => ids.every((id) => sent(`/syscheck/${id}`) === 1))
    const busyUntil = performance.now() + 2 * silence.maxWait
    while (performance.now() < busyUntil);
    for (const result of await Promise.all(lost)) t.match(result, { fault: 'timeout', sent: true })
    t.notOk(hangs())
  },
)

t.test('one trial at a time: of a known agent after a pause, of another one at once', async (t) => {
  const { read, sent, hangs, logged } = await start(t, (url) => AGENTS.test(url), { baseTime: 150 })
  await Promise.all([1, 2, 3].map((id) => read(ofAgent(id))))
  const trials = [1, 2, 4].map((id) => read(ofAgent(id)))
  for (const result of await Promise.all(trials.slice(0, 2))) t.match(result, { sent: false })
  t.match(await trials[2], { fault: 'timeout', sent: true })
  t.match(await read(ofAgent(4)), { sent: false })
  await eventually(async () => (await read(ofAgent(1))).ok === false && sent('/syscheck/1') === 2)
  t.match(await read(['/sca/9', { agentData: '9' }]), { ok: true }, 'an agent whose database works')
  t.notOk(hangs())
  t.match(await read(ofAgent(1)), { fault: 'timeout', sent: true })
  t.same(logged, ['node does not answer some reads', 'node answers all reads again'])
})

t.test('another URL of an endpoint that hangs is a trial, and its response ends the suspicion', async (t) => {
  const { read, sent } = await start(t, (url) => /^\/groups\?offset/.test(url))
  const ofGroups = (path: string): Read => [path, { endpoint: 'GET /groups' }]
  await Promise.all([1, 2, 3].map((offset) => read(ofGroups(`/groups?offset=${offset}`))))
  t.match(await read(ofGroups('/groups?offset=1')), { sent: false, fault: 'ejected' })
  t.equal(sent('/groups?offset=1'), 1)
  t.match(await read(ofGroups('/groups')), { ok: true })
  t.match(await read(ofGroups('/groups?offset=1')), { fault: 'timeout', sent: true })
})

t.test('a trial whose client leaves decides nothing, and the next read is the trial', async (t) => {
  const { read, sent, recover } = await start(t, (url) => AGENTS.test(url))
  await Promise.all([1, 2, 3].map((id) => read(ofAgent(id))))
  const client = new AbortController()
  const trial = read(ofAgent(4, { signal: client.signal }))
  await eventually(() => sent('/syscheck/4') === 1)
  t.match(await read(ofAgent(5)), { sent: false })
  client.abort()
  t.match(await trial, { fault: 'cancelled' })
  recover()
  t.match(await read(ofAgent(5)), { ok: true })
  t.match(await read(ofAgent(1)), { ok: true })
})
