/** The request that finds that a worker is lost, and the end of the loss. */
import t from 'tap'
import { eventually } from '../../support/eventually.ts'
import { together } from '../../support/together.ts'
import { FOUND_MS, HANG_MS, type LostRequest, plain, startClusters } from './lost-workers.ts'

const get = (path: string) => ({ method: 'GET', path })
const put = (path: string) => ({ method: 'PUT', path })

/** Several tests at once: each waits for a call that hangs. More of them would make the calls after it wait for the processor. */
const test = together(t, 2)

const found = {
  'of an agent': [get('/syscollector/001/os'), 400],
  'of several agents': [get('/experimental/syscollector/os?agents_list=001,003'), 200],
  'of all agents': [get('/experimental/syscollector/packages?limit=3'), 200],
  'of the node': [get('/cluster/worker-1/status'), 200],
  'of several nodes': [get('/cluster/ruleset/synchronization?nodes_list=worker-1,worker-2'), 200],
} as const

for (const [kind, [request, status]] of Object.entries(found)) {
  test(`a read ${kind} waits once, and then gets what the others have`, async (t) => {
    const { ask, askOracle, cutOff } = await startClusters(t)
    await cutOff()
    const first = await ask(request)
    const wanted = await askOracle({ ...request, operation: '', names: 'both' } satisfies LostRequest)
    t.strictSame(plain(first), plain(wanted))
    t.equal(first.status, status)
    t.ok(first.ms > HANG_MS / 2 && first.ms < FOUND_MS, `${first.ms} ms`)
    t.ok((await ask(request)).ms < HANG_MS)
  })
}

test('a command whose outcome is not known is an error, and sent once; the next ones are not sent', async (t) => {
  const { cluster, ask, cutOff } = await startClusters(t)
  await cutOff()
  const restart = put('/agents/001/restart')
  t.match(await ask(restart), { status: 504, body: { error: 923 } })
  const sent = () => cluster.seen.filter(({ method, url }) => method === 'PUT' && url.startsWith('/agents/')).length
  t.equal(sent(), 1)
  const next = await ask(restart)
  t.match(next, { status: 400, body: { error: 3022 } })
  t.ok(next.ms < HANG_MS)
  t.equal(sent(), 1)
})

test('after a command to several agents hung, the next one is sent to the others only', async (t) => {
  // Such a command may take long, so only its own timeout ends it.
  const timeout = `${2 * HANG_MS}ms`
  const { cluster, ask, cutOff } = await startClusters(t, { more: { cluster: { limits: { timeout } } } })
  await cutOff()
  const restart = put('/agents/restart?agents_list=001,003')
  t.match(await ask(restart), { status: 504, body: { error: 923 } })
  await ask(get('/cluster/worker-1/status'))
  const next = await ask(restart)
  t.match(next, { status: 200, body: { error: 2, data: { affected_items: ['003'], total_failed_items: 1 } } })
  t.ok(next.ms < HANG_MS)
  const sent = cluster.seen.filter(({ method, url }) => method === 'PUT' && url.startsWith('/agents/'))
  t.strictSame(
    sent.map(({ url }) => new URL(url, 'http://node').searchParams.get('agents_list')),
    ['001,003', '003'],
  )
})

test('a stored response is served instead, where it may be', async (t) => {
  const { ask, cutOff } = await startClusters(t, { more: { cache: { ttl: { syscollector: '50ms' } } } })
  const read = get('/syscollector/001/os')
  const before = await ask(read)
  await cutOff()
  await new Promise((resolve) => setTimeout(resolve, 100))
  for (const after of [await ask(read), await ask(read)]) t.strictSame(after.body, before.body)
  t.match(await ask(get('/syscollector/002/os')), { status: 400, body: { error: 3022 } }, 'nothing is stored')
})

test('a worker that answers again is asked again, after a probe for which no client waits', async (t) => {
  const { cluster, ask, cutOff } = await startClusters(t, { cutOffTime: 500 })
  const read = get('/experimental/syscollector/os?agents_list=001,003')
  await cutOff()
  t.match(await ask(read), { status: 200, body: { error: 2 } })
  await cluster.faults.clear()
  let last = await ask(read)
  await eventually(async () => {
    t.ok(last.ms < HANG_MS)
    last = await ask(read)
    return (last.body as { error?: number }).error === 0
  })
  t.match(last, { status: 200, body: { error: 0, data: { total_affected_items: 2 } } })
})

test('a command is not cut to the agents that its caller may read', async (t) => {
  const { cluster, ask, askLimited, cutOff } = await startClusters(t, { mode: 'passthrough' })
  await cutOff()
  await ask(get('/cluster/worker-1/status'))
  for (const path of ['/agents/restart', '/agents/restart?agents_list=001,003']) {
    const { status, body, ms } = await askLimited(put(path))
    t.equal(status, 504, `${path}: ${JSON.stringify(body)}`)
    t.ok(ms < HANG_MS, `${ms} ms`)
  }
  t.strictSame(
    cluster.seen.filter(({ method }) => method === 'PUT').map(({ url }) => url),
    [],
  )
})

test('without its guard, the request fails as a whole', async (t) => {
  const { ask, cutOff } = await startClusters(t, { guard: false })
  await cutOff()
  for (const path of ['/syscollector/001/os', '/experimental/syscollector/os?agents_list=001,003']) {
    t.match(await ask(get(path)), { status: 504, body: { error: 922 } }, path)
  }
})
