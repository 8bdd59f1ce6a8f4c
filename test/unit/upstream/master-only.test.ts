/** Release 5.0 has an API on the master only: workers need no address, and nothing fails over to them. */
import t, { type Test } from 'tap'
import { v4Contract } from '../../../src/contracts/v4/index.ts'
import type { EdgeRead } from '../../../src/core/request.ts'
import { edgeRequest } from './edge-request.ts'
import { clusterOf, fakeNode } from './fake-node.ts'
import { handlerOf } from './forwarding.ts'
import { ofRelease5, startMaster } from './release-5-node.ts'
import { rows } from './v4-node.ts'

const AGENTS = 'GET /agents'
const ofWorker = { params: { node_id: 'w1' } }

function request(name: string, overrides: Partial<EdgeRead> = {}): EdgeRead {
  const endpoint = v4Contract.find(({ method, path }) => `${method} ${path}` === name)
  if (endpoint?.method !== 'GET') throw new Error(`no ${name}`)
  return { ...edgeRequest('GET', '/agents', overrides), endpoint } as EdgeRead
}

async function start(t: Test, worker?: { readonly url: string }, ofWorker?: string) {
  const master = await startMaster(t, undefined, ofWorker)
  const workers = worker === undefined ? [] : [{ name: 'w1', type: 'worker' as const, url: worker.url }]
  const cluster = clusterOf(t, '', {
    layout: 'v4',
    discover: true,
    nodes: [{ name: 'master', type: 'master', url: master.url }, ...workers],
  })
  await cluster.start()
  return { master, cluster, handler: handlerOf(cluster) }
}

t.test('a worker without address is read through the master', async (t) => {
  const { master, handler } = await start(t)
  await handler(request('GET /cluster/:node_id/status', ofWorker))
  t.strictSame(master.calls(), ['GET /cluster/w1/status'])
})

t.test('a master that does not answer is replaced by no worker', async (t) => {
  const worker = await fakeNode(t, rows([]))
  const { master, handler } = await start(t, worker)
  const passedOn = () => worker.seen.filter(({ url }) => url !== '/' && url !== '/security/user/authenticate').length
  await handler(request(AGENTS))
  t.equal(master.calls().length, 1)
  master.stop()
  await t.rejects(async () => handler(request(AGENTS)), { code: 924 })
  await t.rejects(async () => handler(request('GET /cluster/:node_id/status', ofWorker)), { code: 924 })
  t.equal(passedOn(), 0, worker.seen.map(({ url }) => url).join(' '))
})

t.test('during an upgrade, a worker of a release 4 answers what the master no longer has', async (t) => {
  const worker = await fakeNode(t, ofRelease5(rows([{ id: 5710 }]), '4.14.7'))
  const { master, cluster, handler } = await start(t, worker, '4.14.7')
  const paths = () => worker.seen.map(({ url }) => url)
  await cluster.contacts.probe('w1')
  t.strictSame(cluster.view.layoutMixture(), { v4: ['w1'], v5: ['master'] })
  await handler(request('GET /rules'))
  t.ok(paths().includes('/rules'), paths().join(' '))
  await handler(request(AGENTS))
  t.strictSame(master.calls(), ['GET /agents'])
  t.notOk(paths().includes('/agents'))
})

t.test('a worker whose release was never read is not called', async (t) => {
  const worker = await fakeNode(t, rows([]))
  const master = await startMaster(t)
  const cluster = clusterOf(t, '', {
    layout: 'v4',
    nodes: [
      { name: 'master', type: 'master', url: master.url },
      { name: 'w1', type: 'worker', url: worker.url },
    ],
  })
  await cluster.contacts.probe('master')
  t.strictSame([cluster.view.releaseOf('master'), cluster.view.releaseOf('w1')], ['5.0.0', undefined])
  await t.rejects(async () => handlerOf(cluster)(request('GET /rules')))
  t.strictSame([...worker.seen.map(({ url }) => url), ...master.calls()], [])
})
