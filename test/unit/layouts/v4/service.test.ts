/** The welcome and the version of a node with the v4 layout. */
import t from 'tap'
import { edgeRequest } from '../../upstream/edge-request.ts'
import { ask, recorded } from './recorded.ts'

t.test('the welcome has the fields and the date of the v3 layout', async (t) => {
  const { data } = await ask(edgeRequest('GET', '/'), () => recorded('GET /'))
  t.same(data, {
    msg: 'Welcome to Wazuh HIDS API',
    api_version: 'v4.5.4',
    hostname: 'master',
    timestamp: 'Sun Nov 22 2026 00:31:13 GMT+0000 (Coordinated Universal Time)',
  })
})

t.test('the version is a text, and the call has no flag that its path does not take', async (t) => {
  const { calls, json } = await ask(edgeRequest('GET', '/version', { waitForComplete: true }), () => recorded('GET /'))
  t.same(calls, ['GET /'])
  t.same(json, { error: 0, data: 'v4.5.4' })
})
