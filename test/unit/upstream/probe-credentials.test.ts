/** Probes of nodes of the v3 layout, which write each request without credentials to their log as a failed login. */
import type { RequestListener } from 'node:http'
import t, { type Test } from 'tap'
import { startFaultProxy } from '../../faults/proxy.ts'
import { eventually } from '../../support/eventually.ts'
import { type ClusterTestOptions, clusterOf, envelope, fakeNode, get } from './fake-node.ts'

const silence = { minWait: 50, maxWait: 100, probeTimeout: 200, probes: 2, pause: 20 }
const LAYOUT_INTERVAL_MS = 10
const caller = { username: 'ann', password: 'secret' }

const respond: RequestListener = (request, response) => {
  if (request.headers.authorization === undefined)
    response.writeHead(401, { 'www-authenticate': 'Basic realm="OSSEC API"' }).end()
  else if (request.url !== '/late') envelope(request, response)
}

async function start(t: Test, options: ClusterTestOptions) {
  const node = await fakeNode(t, respond)
  const proxy = await startFaultProxy(node.port)
  t.teardown(() => proxy.close())
  const cluster = clusterOf(t, `http://127.0.0.1:${proxy.port}`, {
    ejection: { silence },
    layoutInterval: LAYOUT_INTERVAL_MS,
    ...options,
  })
  const probes = () => node.seen.filter(({ url }) => url === '/')
  const anonymous = () => probes().filter(({ headers }) => headers.authorization === undefined).length
  return { cluster, proxy, probes, anonymous }
}

for (const layout of ['v3', 'auto'] as const) {
  t.test(
    `layout ${layout}: each probe carries the account: at the start, of late calls, of a silent node`,
    async (t) => {
      const { cluster, proxy, probes, anonymous } = await start(t, { layout })
      await cluster.start()
      const client = new AbortController()
      const late = cluster.call(get('/late', { signal: client.signal }))
      const before = probes().length
      await eventually(() => probes().length > before + 1)
      await proxy.set({ kind: 'stall' })
      await eventually(() => cluster.view.isSilent('master') === true)
      await proxy.set({ kind: 'pass' })
      await eventually(() => cluster.view.isSilent('master') === false)
      client.abort()
      await late
      t.ok(probes().length > 2)
      t.equal(anonymous(), 0, `of ${probes().length} probes`)
    },
  )
}

t.test('passthrough: the probe of a late call carries the credentials of the call', async (t) => {
  const { cluster, probes, anonymous } = await start(t, { credentials: { mode: 'passthrough' } })
  const client = new AbortController()
  const late = cluster.call(get('/late', { signal: client.signal, credentials: caller }))
  await eventually(() => probes().length > 1)
  client.abort()
  await late
  t.equal(anonymous(), 0, `of ${probes().length} probes`)
})

t.test('layout auto: a node that answers calls of clients is not asked for its layout', async (t) => {
  let now = 0
  const { cluster, probes } = await start(t, { layout: 'auto', layoutInterval: 30_000, clock: () => now })
  await cluster.start()
  const before = probes().length
  for (let round = 0; round < 2; round += 1) {
    now += 29_000
    t.match(await cluster.call(get('/agents')), { ok: true })
    // The edge looks each second for nodes that are due.
    await new Promise((resolve) => setTimeout(resolve, 1_050))
  }
  t.equal(probes().length, before)
})
