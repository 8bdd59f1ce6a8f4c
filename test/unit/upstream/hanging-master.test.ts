/** A master of release 5.0 that hangs is probed with a call that it has: an unknown path would count against the edge. */
import t from 'tap'
import { eventually } from '../../support/eventually.ts'
import { clusterOf, get } from './fake-node.ts'
import { startMaster } from './release-5-node.ts'
import { rows, sendJson } from './v4-node.ts'

t.test('a master that hangs is ejected, probed, and called again when it works', async (t) => {
  let isHanging = true
  const hanging = {
    title: 'Internal Error',
    detail: 'Timeout executing API request',
    error: 3021,
    dapi_errors: { master: {} },
  }
  const master = await startMaster(t, (request, response) => {
    if (isHanging) sendJson(response, 500, hanging)
    else rows([])(request, response)
  })
  const cluster = clusterOf(t, master.url, {
    layout: 'v4',
    discover: true,
    ejection: { baseTime: 50, maxTime: 100 },
  })
  await cluster.start()
  for (let at = 0; at < 3; at += 1) await cluster.call(get('/agents'))
  await eventually(() => master.callsOf('/agents/summary/status').length > 1)
  t.equal(master.callsOf('/manager/status').length, 0)
  t.match(await cluster.call(get('/agents')), { ok: false, fault: 'ejected' })
  isHanging = false
  await eventually(async () => (await cluster.call(get('/agents'))).ok)
})
