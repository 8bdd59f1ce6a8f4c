/**
 * Reads of the database of one agent that is stuck: together they hold one slot of the node, which answers everything else. Before
 * the edge knows, they hold two if the database has just answered.
 */
import type { ServerResponse } from 'node:http'
import t, { type Test } from 'tap'
import { bothContracts } from '../../../src/contracts/index.ts'
import { createNodeCall } from '../../../src/layouts/dialect.ts'
import { eventually } from '../../support/eventually.ts'
import { edgeRequest } from './edge-request.ts'
import { clusterOf, envelope, fakeNode, get } from './fake-node.ts'

const silence = { minWait: 100, maxWait: 200, probeTimeout: 2_000, probes: 2, pause: 20 }
const READS = [
  '/syscheck/005',
  '/syscollector/005/os',
  '/sca/005',
  '/rootcheck/005',
  '/syscollector/005/packages',
  '/ciscat/005/results',
]
const SLOTS = 4
const QUEUE = 8
const TIMEOUT_MS = 10_000
/** In mode `manager` only the manager knows whether it passes the calls on. */
const MODES = { manager: { mayBePassedOn: true }, edge: {} } as const

async function start(t: Test, mode: keyof typeof MODES, watched: Partial<typeof silence> = silence) {
  let isStuck = true
  let isSilent = false
  const held: ServerResponse[] = []
  const respond = (response: ServerResponse) => {
    const headers = { 'content-type': 'application/json', 'content-length': 12 }
    response.writeHead(200, headers).end('{"error":0} ')
  }
  const node = await fakeNode(t, (request, response) => {
    if (isStuck && request.url?.includes('/005')) held.push(response)
    else if (!isSilent) envelope(request, response)
  })
  const limits = { inFlight: SLOTS, queue: QUEUE }
  const { call, status, view } = clusterOf(t, node.url, { ejection: { silence: { ...silence, ...watched } }, limits })
  const read = (path: string, overrides = {}) => call(get(path, { timeout: TIMEOUT_MS, ...overrides }))
  const cluster = {
    isAvailable: () => view.isAvailable('master'),
    inFlight: () => status()[0]?.inFlight,
    limit: () => status()[0]?.limit,
    ofAgent: (path: string, overrides = {}) => read(path, { agentData: '005', ...MODES[mode], ...overrides }),
    other: (path: string) => read(path),
    sent: () => node.seen.filter(({ url }) => url?.includes('/005') && !url.includes('answered')).length,
    /** Sends these reads at once: the first of three others that are answered lets two follow, and each of these two more. */
    ofAgentAtOnce: async (paths: readonly string[], overrides = {}) => {
      const sent = cluster.sent() + paths.length
      const answered = [1, 2, 3].map((at) => cluster.ofAgent(`/syscheck/005?answered=${at}`))
      const reads = paths.map((path) => cluster.ofAgent(path, overrides))
      for (const each of answered) {
        await eventually(() => held.length > 0)
        cluster.answerOne()
        await each
      }
      await eventually(() => cluster.sent() === sent)
      return { reads }
    },
    /** Others are answered meanwhile. */
    isStuck: async () => {
      await cluster.other('/agents')
      return cluster.inFlight() === 1
    },
    answerOne: () => respond(held.shift() as ServerResponse),
    fallSilent: () => {
      isSilent = true
    },
    recover: () => {
      isStuck = false
      for (const response of held.splice(0)) respond(response)
    },
  }
  t.match(await cluster.other('/agents'), { ok: true })
  return cluster
}

t.test('one read is sent before one is answered, and each response lets two more follow', async (t) => {
  const { ofAgent, other, inFlight, sent, answerOne, recover } = await start(t, 'edge', { minWait: 60_000 })
  const reads = [...READS, '/sca/005/checks/a', '/sca/005/checks/b'].map((path) => ofAgent(path))
  await eventually(() => sent() === 1)
  for (const path of ['/syscheck/006', '/agents', '/rules']) t.match(await other(path), { ok: true })
  t.equal(inFlight(), 1)
  for (const expected of [3, 5]) {
    answerOne()
    await eventually(() => sent() === expected)
  }
  recover()
  for (const result of await Promise.all(reads)) t.match(result, { ok: true })
  t.equal(inFlight(), 0)
})

t.test('reads that wait for others of their agent are not sent to a node that was found to be silent', async (t) => {
  const { ofAgent, sent, fallSilent, isAvailable } = await start(t, 'edge', { minWait: 60_000, probeTimeout: 50 })
  fallSilent()
  const reads = Array.from({ length: QUEUE }, (_, at) => ofAgent(`/syscheck/005?offset=${at}`))
  await eventually(() => !isAvailable())
  const results = await Promise.all(reads)
  t.equal(sent(), 1)
  t.equal(results.filter(({ ok }) => ok).length, 0)
  t.match(results.at(-1), { fault: 'ejected', sent: false })
})

for (const mode of ['manager', 'edge'] as const) {
  t.test(`mode ${mode}: the node answers other reads, and further reads about the agent are not sent`, async (t) => {
    const { ofAgent, ofAgentAtOnce, other, inFlight, sent, recover, isAvailable } = await start(t, mode)
    const began = performance.now()
    const { reads: stuck } = await ofAgentAtOnce(READS.slice(0, SLOTS))
    const others = await Promise.all(['/syscheck/006', '/agents', '/rules'].map(other))
    for (const result of others) t.match(result, { ok: true })
    t.ok(performance.now() - began < TIMEOUT_MS / 2, 'as soon as the reads are late')
    t.equal(inFlight(), 1, 'slots that the reads hold')
    const later = READS.slice(SLOTS).map((path) => ofAgent(path))
    t.match(await other('/agents'), { ok: true })
    t.equal(sent(), SLOTS)
    recover()
    for (const result of await Promise.all([...stuck, ...later])) t.match(result, { ok: true }, 'answered in the end')
    t.equal(inFlight(), 0)
    t.ok(isAvailable())
  })

  t.test(`mode ${mode}: reads that time out show nothing about the node, and follow each other`, async (t) => {
    const { ofAgent, ofAgentAtOnce, other, inFlight, limit, sent, isAvailable } = await start(t, mode)
    const timeout = 1_500
    // Reads of three URLs would decide.
    const urls = Array.from({ length: SLOTS }, (_, at) => `${READS[at % 2]}`)
    const { reads: first } = await ofAgentAtOnce(urls, { timeout })
    const next = ofAgent('/syscheck/005?offset=1', { timeout: 2 * timeout })
    const last = ofAgent('/syscheck/005?offset=2', { timeout: 1.5 * timeout })
    t.match(await other('/agents'), { ok: true })
    for (const result of await Promise.all(first)) t.match(result, { fault: 'timeout', sent: true })
    await eventually(() => sent() === SLOTS + 1)
    t.equal(inFlight(), 1)
    t.match(await next, { fault: 'timeout', sent: true })
    t.match(await last, { fault: 'overloaded', sent: false, reason: 'agentStuck', about: '005' })
    t.equal(limit(), SLOTS)
    t.ok(isAvailable())
  })

  t.test(
    `mode ${mode}: when reads of several URLs timed out, those that wait and later ones fail at once`,
    async (t) => {
      const { ofAgent, ofAgentAtOnce, other, isStuck, sent, recover, isAvailable } = await start(t, mode)
      const { reads: first } = await ofAgentAtOnce(READS.slice(0, SLOTS), { timeout: 1_500 })
      await eventually(isStuck)
      // Two of the first were sent after the latest response.
      const third = ofAgent('/ciscat/005/results', { timeout: 4_500 })
      const waiting = Array.from({ length: QUEUE - 1 }, () => ofAgent('/sca/005', { timeout: 60_000 }))
      for (const result of await Promise.all([...first, third])) t.match(result, { fault: 'timeout', sent: true })
      for (const result of [...(await Promise.all(waiting)), await ofAgent('/sca/005')])
        t.match(result, { fault: 'timeout', sent: false, reason: 'earlierReadsStuck', about: 'reads about agent 005' })
      t.equal(sent(), SLOTS + 1)
      t.ok(isAvailable())
      t.match(await other('/syscheck/006'), { ok: true })
      recover()
      t.match(await ofAgent('/syscheck/005?offset=1'), { ok: true }, 'a read of another URL is the trial')
      t.match(await ofAgent('/sca/005'), { ok: true })
    },
  )
}

t.test('at most as many reads wait for stuck databases as the queue of the node has places', async (t) => {
  const { ofAgent, ofAgentAtOnce, isStuck, recover } = await start(t, 'edge')
  const { reads: stuck } = await ofAgentAtOnce(READS.slice(0, SLOTS))
  await eventually(isStuck)
  const waiting = Array.from({ length: QUEUE }, (_, at) => ofAgent(`/syscheck/005?offset=${at}`))
  for (const path of READS) t.match(await ofAgent(path), { fault: 'overloaded', sent: false, retryAfter: 1 })
  recover()
  for (const result of await Promise.all([...stuck, ...waiting])) t.match(result, { ok: true })
  t.match(await ofAgent('/sca/005'), { ok: true })
})

t.test('a read that is slow alone does not hold up others about its agent', async (t) => {
  const node = await fakeNode(t, (request, response) => {
    if (request.url !== '/syscheck/005') envelope(request, response)
  })
  const { call } = clusterOf(t, node.url, { ejection: { silence } })
  const client = new AbortController()
  const slow = call(get('/syscheck/005', { agentData: '005', signal: client.signal }))
  for (let round = 0; round < 8; round += 1) {
    t.match(await call(get('/sca/005', { agentData: '005', timeout: 1_000 })), { ok: true })
    await new Promise((resolve) => setTimeout(resolve, silence.minWait / 2))
  }
  client.abort()
  t.match(await slow, { fault: 'cancelled' })
})

t.test('a node that answers nothing any more is ejected, also if only one agent is read', async (t) => {
  let isUp = true
  const node = await fakeNode(t, (request, response) => {
    if (isUp && request.url !== '/syscheck/005') envelope(request, response)
  })
  const { call, view } = clusterOf(t, node.url, { ejection: { silence: { ...silence, probeTimeout: 60_000 } } })
  t.match(await call(get('/sca/005', { agentData: '005' })), { ok: true })
  const read = () => call(get('/syscheck/005', { agentData: '005', timeout: 1.5 * silence.minWait }))
  const first = read()
  // The latest response comes after the first of these reads was sent.
  t.match(await call(get('/agents')), { ok: true })
  isUp = false
  await first
  for (let sent = 0; sent < 4; sent += 1) await read()
  t.notOk(view.isAvailable('master'))
})

t.test('the reads of an agent database, in both contracts', (t) => {
  const agentDataOf = (path: string): boolean => {
    const request = { ...edgeRequest('GET', '/agents'), params: { agent_id: '005' } }
    const endpoint = bothContracts.find((record) => record.method === 'GET' && record.path === path)
    if (endpoint === undefined) throw new Error(path)
    const call = { node: 'master', method: 'GET', path, expect: 'bytes', timeout: 1, endpoint: `GET ${path}` } as const
    return createNodeCall({ ...request, endpoint } as typeof request, call).agentData === '005'
  }
  const ofOne = bothContracts.filter(({ method, path }) => method === 'GET' && path.includes(':agent_id'))
  for (const { path } of ofOne) t.equal(agentDataOf(path), !path.startsWith('/agents/'), path)
  t.ok(ofOne.length > 20)
  t.end()
})
