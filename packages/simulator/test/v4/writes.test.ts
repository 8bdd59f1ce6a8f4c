import t from 'tap'
import { startV4 } from './ask.ts'

const json = (value: unknown) => ({ type: 'application/json', body: JSON.stringify(value) })

t.test('agents are registered, replaced and deleted', async (t) => {
  const { sim, ask } = await startV4(t)
  const { world } = sim
  const made = await ask('POST /agents', json({ name: 'new-one', ip: '192.0.2.7' }))
  const { id, key } = (made.json?.data ?? {}) as { readonly id: string; readonly key: string }
  t.match(world.agents.get(id), { name: 'new-one', ip: '192.0.2.7', key })
  t.match(await ask('POST /agents', json({ name: 'new-one' })), { status: 400, json: { error: 1705 } })
  t.match(await ask('POST /agents', json({ name: 'other', ip: '192.0.2.7' })), { json: { error: 1706 } })
  const force = { enabled: true, after_registration_time: '0s' }
  const again = await ask('POST /agents', json({ name: 'new-one', ip: '192.0.2.7', force }))
  t.equal(again.status, 200)
  t.notOk(world.agents.has(id), 'replaced')
  t.match(await ask('POST /agents', json({ name: 'x', force: 3600 })), {
    status: 500,
    json: { title: 'Internal Server Error' },
  })
  const inserted = { name: 'inserted', id: '950', key: 'k'.repeat(64) }
  t.match(await ask('POST /agents/insert', json(inserted)), { json: { data: { id: '950' } } })
  t.match(await ask('POST /agents/insert', json({ ...inserted, name: 'twice' })), { json: { error: 1708 } })

  t.match(await ask('DELETE /agents?agents_list=950&status=all'), {
    json: { data: { failed_items: [{ error: { code: 1731 } }] } },
  })
  t.match(await ask('DELETE /agents?agents_list=950,999&status=all&older_than=0s'), {
    json: { error: 2, data: { affected_items: ['950'], failed_items: [{ error: { code: 1701 }, id: ['999'] }] } },
  })
  t.notOk(world.agents.has('950'))
})

t.test('groups get members, files and an end', async (t) => {
  const { sim, ask } = await startV4(t)
  const { world } = sim
  t.match(await ask('POST /groups', json({ group_id: 'lab' })), { json: { message: "Group 'lab' created." } })
  t.match(await ask('PUT /agents/group?group_id=lab&agents_list=001,002'), {
    json: { data: { affected_items: ['001', '002'] } },
  })
  t.ok(world.agents.get('001')?.groups.includes('lab'))
  t.match(await ask('PUT /agents/001/group/lab'), {
    json: { error: 1, data: { failed_items: [{ error: { code: 1751 } }] } },
  })
  t.match(await ask('PUT /agents/001/group/lab?force_single_group=true'), { json: { error: 0 } })
  t.same(world.agents.get('001')?.groups, ['lab'])
  const body = '<agent_config><localfile><location>/x</location></localfile></agent_config>'
  t.match(await ask('PUT /groups/lab/configuration', { type: 'application/xml', body }), { status: 200 })
  t.match(await ask('PUT /groups/lab/configuration', { type: 'text/xml', body }), {
    status: 406,
    json: { error: 6002 },
  })
  const configuration = await ask('GET /groups/lab/configuration')
  t.match(configuration, { json: { data: { affected_items: [{ config: { localfile: [{ location: '/x' }] } }] } } })
  t.match(await ask('DELETE /groups?groups_list=lab,default'), {
    json: { data: { affected_items: ['lab'], failed_items: [{ error: { code: 1712 }, id: ['default'] }] } },
  })
  t.same(world.agents.get('001')?.groups, ['default'])
})

t.test('files are written on the master, and the main configuration on its node', async (t) => {
  const { sim, ask } = await startV4(t, { v4: { ownCacheMs: 0 } })
  const [master, worker] = sim.world.nodes
  const upload = (body: string) => ({ type: 'application/octet-stream', body })
  const rule = '<group name="own,"><rule id="100900" level="5"><description>own</description></rule></group>'
  t.match(await ask('PUT /rules/files/own.xml', upload(rule)), {
    json: { data: { affected_items: ['etc/rules/own.xml'] } },
  })
  t.equal(worker?.files.get('etc/rules/own.xml'), rule, 'stored as sent, on all nodes')
  t.match(await ask('PUT /rules/files/own.xml', upload(rule)), {
    json: { data: { failed_items: [{ error: { code: 1905 } }] } },
  })
  t.equal((await ask('GET /rules/files/own.xml?raw=true')).text, rule)
  t.match(await ask('GET /rules?rule_ids=100900'), {
    json: { data: { affected_items: [{ filename: 'own.xml', level: 5 }] } },
  })
  t.match(await ask('DELETE /rules/files/own.xml'), { json: { data: { affected_items: ['etc/rules/own.xml'] } } })
  t.match(await ask('GET /rules/files/own.xml'), { json: { data: { failed_items: [{ error: { code: 1415 } }] } } })

  const text = (master?.files.get('etc/ossec.conf') ?? '').replace('<logall>no<', '<logall>yes<')
  t.match(await ask('PUT /cluster/worker-1/configuration', upload(text)), {
    json: { data: { affected_items: ['worker-1'] } },
  })
  t.equal(worker?.files.get('etc/ossec.conf'), text)
  t.not(master?.files.get('etc/ossec.conf'), text)
})

t.test('commands reach active agents, and upgrades are tasks', async (t) => {
  const { sim, ask } = await startV4(t)
  const { world } = sim
  const old = [...world.agents.values()].find(({ version, lastKeepAlive, id }) => {
    const live = lastKeepAlive !== undefined && world.now().getTime() - lastKeepAlive.getTime() < 60_000
    return id !== '000' && live && version !== undefined && version !== 'Wazuh v4.5.4'
  })
  const id = old?.id ?? ''
  t.match(await ask(`PUT /agents/restart?agents_list=${id},020,999`), {
    json: { error: 2, data: { failed_items: [{ error: { code: 1701 } }, { error: { code: 1707 }, id: ['020'] }] } },
  })
  t.equal(world.agents.get(id)?.restarts, 1)
  t.match(await ask(`GET /agents/upgrade_result?agents_list=${id}`), {
    json: { data: { failed_items: [{ error: { code: 1813 } }] } },
  })
  t.match(await ask(`PUT /agents/upgrade?agents_list=${id}`), {
    json: { data: { affected_items: [{ agent: id, task_id: 1 }] } },
  })
  t.match(await ask(`PUT /agents/upgrade?agents_list=${id}`), {
    json: { data: { failed_items: [{ error: { code: 1820 } }] } },
  })
  const result = async () =>
    (await ask(`GET /agents/upgrade_result?agents_list=${id}`)).json?.data?.affected_items?.[0]?.status
  t.equal(await result(), 'Updating')
  t.equal(await result(), 'Updated')
  t.equal(world.agents.get(id)?.version, 'Wazuh v4.5.4')

  sim.v4.setUpgrades({ reads: 0, fails: 'Send open file error' })
  await ask(`PUT /agents/upgrade?agents_list=${id}&force=true`)
  t.match(await ask(`GET /agents/upgrade_result?agents_list=${id}`), {
    json: { data: { affected_items: [{ status: 'Error', error_msg: 'Send open file error' }] } },
  })
})

t.test('scans run and results are cleared where the release allows it', async (t) => {
  const { sim, ask } = await startV4(t)
  t.match(await ask('DELETE /rootcheck/001'), { json: { data: { affected_items: ['001'] } } })
  t.match(await ask('GET /rootcheck/001'), { json: { data: { total_affected_items: 0 } } })
  t.match(await ask('PUT /rootcheck?agents_list=001'), { json: { data: { affected_items: ['001'] } } })
  t.ok(sim.world.agents.get('001')?.lastScan)
  const v4 = [...sim.world.agents.values()].find(({ id, version }) => id !== '000' && version === 'Wazuh v4.5.4')
  t.match(await ask(`DELETE /syscheck/${v4?.id}`), { json: { data: { failed_items: [{ error: { code: 1760 } }] } } })
})
