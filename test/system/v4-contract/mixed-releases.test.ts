/** While the master has release 5.0 and a worker answers as 4.14, the edge refuses writes, as while nodes have two layouts. */
import t from 'tap'
import { request } from 'undici'
import { SHORT_CONTACTS, startEdge } from '../../support/edge.ts'
import { eventually } from '../../support/eventually.ts'
import { fakeNode } from '../../unit/upstream/fake-node.ts'
import { ofRelease5, startMaster } from '../../unit/upstream/release-5-node.ts'
import { rows } from '../../unit/upstream/v4-node.ts'

t.test('an upgrade from 4.14 to 5.0', async (t) => {
  const master = await startMaster(t)
  const worker = await fakeNode(t, ofRelease5(rows([{ id: 5710 }]), '4.14.7'))
  const edge = await startEdge({
    nodes: [
      { name: 'master', type: 'master', url: master.url },
      { name: 'w1', type: 'worker', url: worker.url },
    ],
    settings: {
      listen: { contract: 'v4', secondPort: 0 },
      cluster: { layout: 'v4', discover: false, limits: { perMinute: 0 } },
    },
    times: { cluster: { contactTimes: SHORT_CONTACTS } },
  })
  t.teardown(() => edge.close())
  const login = await fetch(`${edge.url}/security/user/authenticate?raw=true`, {
    method: 'POST',
    headers: { authorization: edge.authorization('admin') },
  })
  const bearer = `Bearer ${await login.text()}`
  const basic = edge.authorization('admin')
  const send = async (url: string, authorization: string, method = 'GET') => {
    const response = await request(url, { method: method as 'GET', headers: { authorization } })
    return { status: response.statusCode, text: await response.body.text() }
  }
  const write = () => send(`${edge.url}/agents/001/restart`, bearer, 'PUT')
  await eventually(async () => (await write()).status === 503)
  t.match((await write()).text, /v4: w1; v5: master/)
  t.match(await send(`${edge.secondUrl}/agents/001/restart`, basic, 'PUT'), { status: 503, text: /"error":939/ })
  t.equal((await send(`${edge.url}/agents`, bearer)).status, 200)
  t.strictSame(master.calls(), ['GET /agents'])
  t.match(await send(`${edge.url}/rules`, bearer), { status: 200, text: /5710/ })
  t.match(await send(`${edge.secondUrl}/rules/5710`, basic), { status: 200, text: /5710/ })
  // After its upgrade, the worker has no API.
  worker.stop()
  await eventually(async () => (await write()).status === 200)
  t.match(await send(`${edge.url}/rules?limit=1`, bearer), { status: 404, text: /gone since release 5\.0/ })
  t.strictSame(
    master.calls().filter((call) => /rules/.test(call)),
    [],
  )
})
