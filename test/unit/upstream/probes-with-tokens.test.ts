/** In front of release 5.0, the edge asks without a token only before it has one: such calls are ten a minute. */
import t, { type Test } from 'tap'
import type { NodeCredentials } from '../../../src/upstream/index.ts'
import { eventually } from '../../support/eventually.ts'
import { clusterOf, get } from './fake-node.ts'
import { startMaster } from './release-5-node.ts'

const SPEED = 50
const service: NodeCredentials = { mode: 'service', username: 'edge', password: 'pass' }

async function start(t: Test, credentials: NodeCredentials) {
  const master = await startMaster(t)
  const cluster = clusterOf(t, master.url, {
    layout: 'auto',
    layoutInterval: 1_000,
    contactTimes: { interval: 1_000, slowInterval: 5_000, timeout: 5_000, idleInterval: 15_000 },
    clock: () => performance.now() * SPEED,
    credentials,
    limits: { perMinute: 0 },
  })
  await cluster.start()
  const withoutToken = () =>
    master.callsOf('/').filter(({ headers }) => !headers.authorization?.startsWith('Bearer ')).length
  return { master, cluster, withoutToken }
}

t.test('an idle edge with its own account', async (t) => {
  const { master, cluster, withoutToken } = await start(t, service)
  await eventually(() => master.callsOf('/').length > 12)
  t.equal(withoutToken(), 1)
  t.equal(cluster.view.layoutOf('master'), 'v4')
  t.equal(cluster.view.releaseOf('master'), '5.0.0')
})

t.test('an edge with the credentials of callers, from the first login on', async (t) => {
  const { master, cluster, withoutToken } = await start(t, { mode: 'passthrough' })
  t.equal(cluster.view.releaseOf('master'), undefined)
  await cluster.call(get('/agents', { credentials: { username: 'ann', password: 'pass' } }))
  await eventually(() => cluster.view.releaseOf('master') === '5.0.0')
  const before = withoutToken()
  const probes = master.callsOf('/').length
  await eventually(() => {
    cluster.contacts.probeAll()
    return master.callsOf('/').length > probes + 5
  })
  await cluster.view.confirmLayout?.('master', 'v4')
  t.equal(withoutToken(), before)
})
