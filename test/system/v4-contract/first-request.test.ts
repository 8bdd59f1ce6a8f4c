/** With users of the manager, the edge knows the release from the first login on: not even the first request is a call to an unknown path. */
import t, { type Test } from 'tap'
import { request } from 'undici'
import { startEdge } from '../../support/edge.ts'
import { startMaster } from '../../unit/upstream/release-5-node.ts'
import { rows } from '../../unit/upstream/v4-node.ts'

async function start(t: Test, contract: 'v3' | 'v4') {
  const master = await startMaster(t, rows([{ 'wazuh-manager-db': { ready: true, running: true }, ready: true }]))
  const edge = await startEdge({
    nodes: [{ name: 'master', type: 'master', url: master.url }],
    settings: {
      listen: { contract },
      cluster: { layout: 'v4', credentials: { mode: 'passthrough', username: null, password: null } },
      access: { users: null, roles: null },
    },
  })
  t.teardown(() => edge.close())
  const send = async (path: string, authorization: string, method = 'GET') => {
    const response = await request(edge.url + path, { method: method as 'GET', headers: { authorization } })
    return { status: response.statusCode, text: await response.body.text() }
  }
  return { master, send }
}

const BASIC = `Basic ${btoa('ann:Pass-Word-1234')}`

t.test('of a v3 client', async (t) => {
  const { master, send } = await start(t, 'v3')
  const { status, text } = await send('/rules', BASIC)
  t.match({ status, text }, { status: 501, text: /release 5\.0\.0/ })
  t.strictSame(master.calls(), [])
})

t.test('of a v3 client, about the manager', async (t) => {
  const { master, send } = await start(t, 'v3')
  t.equal((await send('/manager/status', BASIC)).status, 200)
  t.strictSame(master.calls(), ['GET /cluster/master/status'])
})

t.test('of a v4 client', async (t) => {
  const { master, send } = await start(t, 'v4')
  const { text: token } = await send('/security/user/authenticate?raw=true', BASIC, 'POST')
  const { status, text } = await send('/rules', `Bearer ${token}`)
  t.match({ status, text }, { status: 404, text: /gone since release 5\.0/ })
  t.strictSame(master.calls(), [])
})
