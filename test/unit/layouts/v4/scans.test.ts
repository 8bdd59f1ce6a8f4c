/** Integrity monitoring and rootkit detection of a node with the v4 layout, in the forms of the v3 one. */
import t from 'tap'
import { edgeRequest } from '../../upstream/edge-request.ts'
import { ask, askRecorded, recorded, success } from './recorded.ts'

const of = (agent_id: string) => ({ params: { agent_id } })

t.test('a file has its mode as digits, and dates without a zone', async (t) => {
  const { data } = await askRecorded('GET /syscheck/:agent_id', of('001'), 'GET /syscheck/001?file=/etc/passwd')
  const { items } = data as { items: Record<string, unknown>[] }
  t.match(items[0], { file: '/etc/passwd', perm: '100644', mtime: '2026-11-22 00:11:38', date: '2026-11-22 00:15:36' })
  t.notOk(items.some((row) => Object.hasOwn(row, 'changes') || Object.hasOwn(row, 'attributes')))
})

t.test('the mode that an old agent sends as a number is a text', async (t) => {
  const { data } = await askRecorded('GET /syscheck/:agent_id', of('003'), 'GET /syscheck/003?limit=1')
  t.match(data, { items: [{ perm: '100644' }] })
})

t.test('the node gets its own words for filters', async (t) => {
  const query = { type: 'registry', summary: 'yes' }
  const request = edgeRequest('GET', '/syscheck/:agent_id', { ...of('001'), query })
  const { calls } = await ask(request, () => success([]))
  t.same(calls, ['GET /syscheck/001?type=registry_key&summary=true&sort=+mtime,file'])
})

t.test('keys and values of a registry are registry entries', async (t) => {
  const rows = [
    { file: 'a', type: 'registry_key' },
    { file: 'b', type: 'registry_value', value: { name: 'x' } },
  ]
  const { data } = await ask(edgeRequest('GET', '/syscheck/:agent_id', of('001')), () => success(rows))
  t.same((data as { items: unknown }).items, [
    { file: 'a', type: 'registry' },
    { file: 'b', type: 'registry' },
  ])
})

t.test('an agent without a database has no rows', async (t) => {
  const none = { error: 0, data: { items: [], totalItems: 0 } }
  const rootcheck = await askRecorded('GET /rootcheck/:agent_id', of('008'), 'GET /rootcheck/008')
  t.same(rootcheck.json, none)
  const syscheck = await ask(edgeRequest('GET', '/syscheck/:agent_id', of('008')), ({ path }) =>
    path.startsWith('/agents') ? success([{ id: '008' }]) : recorded('GET /syscheck/999'),
  )
  t.same(syscheck.calls.slice(1), ['GET /agents?agents_list=008&select=id'])
  t.same(syscheck.json, none)
})

t.test('an agent that has no syscheck database because it does not exist is error 1701', async (t) => {
  const { json } = await ask(edgeRequest('GET', '/syscheck/:agent_id', of('999')), ({ path }) =>
    recorded(path.startsWith('/agents') ? 'GET /agents?agents_list=999' : 'GET /syscheck/999'),
  )
  t.same(json, { error: 1701, message: 'Agent does not exist' })
})

t.test('an agent that does not exist is error 1701', async (t) => {
  const { status, json } = await askRecorded('GET /rootcheck/:agent_id', of('999'), 'GET /rootcheck/999')
  t.equal(status, 200)
  t.same(json, { error: 1701, message: 'Agent does not exist' })
})

t.test('a rootcheck event has its v3 names', async (t) => {
  const call = 'GET /rootcheck/001?limit=1&offset=1'
  const { data } = await askRecorded('GET /rootcheck/:agent_id', of('001'), call)
  t.same(data, {
    items: [
      {
        event: 'System Audit: SSH Hardening - 1: Port 22 {PCI_DSS: 2.2.4}. File: /etc/ssh/sshd_config. Reference: 1 .',
        oldDay: '2026-11-21 23:21:08',
        readDay: '2026-11-21 23:21:08',
        status: 'outstanding',
        pci: '2.2.4',
      },
    ],
    totalItems: 3,
  })
})

t.test('parameters of rootcheck name the v4 fields', async (t) => {
  const query = { pci: '2.2.4', sort: '-readDay', select: 'event,oldDay', q: 'pci=2.2.4' }
  const { calls } = await ask(edgeRequest('GET', '/rootcheck/:agent_id', { ...of('001'), query }), () => success([]))
  t.equal(calls.length, 1)
  t.same(Object.fromEntries(new URLSearchParams(calls[0]?.split('?')[1])), {
    pci_dss: '2.2.4',
    sort: '-date_last,log',
    select: 'log,date_first',
    q: 'pci_dss=2.2.4',
  })
})

t.test('an unknown status of rootcheck is error 1603, without a call', async (t) => {
  const request = edgeRequest('GET', '/rootcheck/:agent_id', { ...of('001'), query: { status: 'foo' } })
  const { calls, json } = await ask(request, () => success([]))
  t.same(calls, [])
  t.match(json, { error: 1603 })
})

t.test('requirements of rootcheck are the distinct values of a field', async (t) => {
  const call = 'GET /rootcheck/000?select=pci_dss&distinct=true'
  const query = { sort: '-pci', limit: '2' }
  const { calls, data } = await askRecorded('GET /rootcheck/:agent_id/pci', { ...of('000'), query }, call)
  t.same(calls, [`${call}&limit=2&sort=-pci_dss`])
  t.same(data, { items: ['6.2', '2.2.2', '2.2.4'], totalItems: 3 })
})

t.test('times of a scan are v3 dates, and ND if there was none', async (t) => {
  const last = '/syscheck/:agent_id/last_scan'
  const { data } = await askRecorded(`GET ${last}`, of('003'), 'GET /syscheck/003/last_scan')
  t.same(data, { start: '2026-11-22 00:22:50', end: '2026-11-22 00:23:05' })
  const rootcheck = await askRecorded('GET /rootcheck/:agent_id/last_scan', of('000'), 'GET /rootcheck/000/last_scan')
  t.same(rootcheck.data, { start: '2026-11-22 00:22:19', end: '2026-11-22 00:22:31' })
  const never = await askRecorded(`GET ${last}`, of('008'), 'GET /syscheck/008/last_scan')
  t.same(never.data, { start: 'ND', end: 'ND' })
})

t.test('a scan is started on the named agent only', async (t) => {
  const { calls, json } = await askRecorded('PUT /syscheck/:agent_id', of('001'), 'PUT /syscheck?agents_list=001')
  t.same(calls, ['PUT /syscheck?agents_list=001'])
  t.same(json, { error: 0, data: 'Restarting Syscheck/Rootcheck on agent' })
  const local = await askRecorded('PUT /rootcheck/:agent_id', of('000'), 'PUT /rootcheck?agents_list=000')
  t.same(local.json, { error: 0, data: 'Restarting Syscheck/Rootcheck locally' })
})

t.test('a scan of an agent that is not active is error 1604 or 1605', async (t) => {
  const syscheck = await askRecorded('PUT /syscheck/:agent_id', of('008'), 'PUT /syscheck?agents_list=008')
  t.match(syscheck.json, { error: 1604, message: String })
  const rootcheck = await askRecorded('PUT /rootcheck/:agent_id', of('004'), 'PUT /rootcheck?agents_list=004')
  t.match(rootcheck.json, { error: 1605, message: String })
  const missing = await askRecorded('PUT /rootcheck/:agent_id', of('999'), 'PUT /rootcheck?agents_list=999')
  t.same(missing.json, { error: 1701, message: 'Agent does not exist' })
})

t.test('a scan of all agents succeeds although some are not active', async (t) => {
  for (const path of ['/syscheck', '/rootcheck']) {
    const { json } = await askRecorded(`PUT ${path}`, {}, `PUT ${path}`)
    t.same(json, { error: 0, data: 'Restarting Syscheck/Rootcheck on all agents' }, path)
  }
})

t.test('rootcheck data of all agents is cleared with the word for all agents', async (t) => {
  const call = 'DELETE /experimental/rootcheck?agents_list=all'
  const { calls, json } = await askRecorded('DELETE /rootcheck', {}, call)
  t.same(calls, [call])
  t.same(json, { error: 0, data: 'Rootcheck database deleted' })
  const one = await askRecorded('DELETE /rootcheck/:agent_id', of('999'), 'DELETE /rootcheck/999')
  t.same(one.json, { error: 1701, message: 'Agent does not exist' })
})

t.test('agents that keep their own integrity data have nothing to clear', async (t) => {
  const failed = [{ error: { code: 1760, message: 'Feature only available for older agent versions' }, id: ['001'] }]
  const v4Agent = await ask(edgeRequest('DELETE', '/syscheck/:agent_id', of('001')), () => success([], { failed }))
  t.same(v4Agent.json, { error: 0, data: 'Syscheck database deleted' })
  const neverConnected = await askRecorded('DELETE /syscheck/:agent_id', of('008'), 'DELETE /syscheck/008')
  t.match(neverConnected.json, { error: 1015, message: 'Agent version is null. Was the agent ever connected?' })
  const call = 'DELETE /experimental/syscheck?agents_list=all'
  const all = await ask(edgeRequest('DELETE', '/experimental/syscheck'), () => recorded(call))
  t.same(all.calls, [call])
  t.same(all.json, { error: 0, data: 'Syscheck database deleted' })
})
