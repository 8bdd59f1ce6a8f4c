/** The inventory, SCA and CIS-CAT results of one agent behind a node with the v4 layout. */
import t from 'tap'
import { edgeRequest } from '../../upstream/edge-request.ts'
import { ask, askRecorded, recorded, success } from './recorded.ts'

const of = (agent_id: string) => ({ params: { agent_id } })
const HARDWARE = '/syscollector/:agent_id/hardware'

t.test('the hardware of an agent is one object with a v3 date', async (t) => {
  const { data } = await askRecorded(`GET ${HARDWARE}`, of('003'), 'GET /syscollector/003/hardware')
  t.same(data, {
    cpu: { cores: 2, mhz: 2596.15, name: 'AMD EPYC' },
    ram: { free: 16513964, total: 24684084, usage: 34 },
    scan: { id: 1540203067, time: '2026/11/22 00:22:48' },
    board_serial: 'unknown',
  })
})

t.test('an agent without an inventory has an empty object, or no rows', async (t) => {
  const empty = await askRecorded(`GET ${HARDWARE}`, of('004'), 'GET /syscollector/004/hardware')
  t.same(empty.json, { error: 0, data: {} })
  const packages = await ask(edgeRequest('GET', '/syscollector/:agent_id/packages', of('008')), () =>
    recorded('GET /rootcheck/008'),
  )
  t.same(packages.json, { error: 0, data: { items: [], totalItems: 0 } })
})

t.test('nested fields are selected and sorted by their flat names', async (t) => {
  const query = { select: 'local_port,scan_id', sort: '-local_port' }
  const call = 'GET /syscollector/001/ports?sort=-local.port&limit=2&select=local.port'
  const { calls, data } = await askRecorded('GET /syscollector/:agent_id/ports', { ...of('001'), query }, call)
  t.same(calls, ['GET /syscollector/001/ports?sort=-local.port,protocol,local.ip,inode&select=local.port,scan.id'])
  t.same(data, { items: [{ local: { port: 8080 } }, { local: { port: 80 } }], totalItems: 4 })
})

t.test('hotfixes have flat fields on the node only', async (t) => {
  const path = '/syscollector/:agent_id/hotfixes'
  const row = { hotfix: 'KB4002', scan_id: 0, scan_time: '2026-11-24T01:29:47+00:00', agent_id: '002' }
  for (const [query, call] of [
    [{}, 'sort=+scan_id,hotfix'],
    [{ sort: '-hotfix' }, 'sort=-hotfix'],
    [{ sort: 'scan_time' }, 'sort=+scan_time,hotfix'],
  ] as const) {
    const { calls, data } = await ask(edgeRequest('GET', path, { ...of('002'), query }), () => success([row]))
    t.same(calls, [`GET /syscollector/002/hotfixes?${call}`])
    const items = [{ hotfix: 'KB4002', scan: { id: 0, time: '2026/11/24 01:29:47' } }]
    t.same(data, { items, totalItems: 1 })
  }
})

t.test('a dotted name is no field of the v3 layout', async (t) => {
  for (const [query, error] of [
    [{ select: 'local.port' }, 1724],
    [{ sort: 'local.port' }, 1403],
    [{ q: 'local.port=22' }, 1408],
  ] as const) {
    const request = edgeRequest('GET', '/syscollector/:agent_id/ports', { ...of('001'), query })
    const { calls, json } = await ask(request, () => success([]))
    t.same(calls, [])
    t.match(json, { error })
  }
})

t.test('filters and conditions have dotted names in the call', async (t) => {
  const query = { tx_packets: '1', rx_errors: '0', mtu: '1500', q: 'tx_bytes>5' }
  const request = edgeRequest('GET', '/syscollector/:agent_id/netiface', { ...of('001'), query })
  const { calls } = await ask(request, () => success([]))
  t.same(Object.fromEntries(new URLSearchParams(calls[0]?.split('?')[1]?.replace('+', '%2B'))), {
    q: 'tx.bytes>5',
    mtu: '1500',
    'tx.packets': '1',
    'rx.errors': '0',
    sort: '+scan.id,name',
  })
})

t.test('packages lack what the agent does not know', async (t) => {
  const call = 'GET /syscollector/001/packages?name=bash'
  const { data } = await askRecorded('GET /syscollector/:agent_id/packages', of('001'), call)
  const [bash] = (data as { items: Record<string, unknown>[] }).items
  t.match(bash, { name: 'bash', scan: { time: '2026/11/22 00:18:57' } })
  t.notOk(bash && ['agent_id', 'location', 'install_time'].some((name) => Object.hasOwn(bash, name)))
})

t.test('policies have v3 dates', async (t) => {
  const { data } = await askRecorded('GET /sca/:agent_id', of('001'), 'GET /sca/001?limit=1')
  t.match(data, { items: [{ policy_id: 'cis_debian11', start_scan: '2026-11-22 00:23:28' }] })
})

t.test('a check that does not apply has a status and no result', async (t) => {
  const params = { agent_id: '001', policy_id: 'cis_debian11' }
  const query = { select: 'id,result,status', result: 'not applicable' }
  const { calls, data } = await askRecorded(
    'GET /sca/:agent_id/checks/:policy_id',
    { params, query },
    'GET /sca/001/checks/cis_debian11?result=not%20applicable&limit=1&select=id,result,reason',
  )
  t.same(calls, ['GET /sca/001/checks/cis_debian11?result=not applicable&select=id,result&sort=+id'])
  t.same(data, { items: [{ id: 29528, result: '', status: 'Not applicable' }], totalItems: 54 })
})

t.test('results of CIS-CAT keep the time that the agent sent', async (t) => {
  const { data } = await askRecorded('GET /ciscat/:agent_id/results', of('001'), 'GET /ciscat/001/results')
  t.match(data, { items: [{ scan: { id: 1700000002, time: '2026-11-22T10:00:00.000-07:00' }, score: 72 }] })
  t.notOk(JSON.stringify(data).includes('agent_id'))
})
