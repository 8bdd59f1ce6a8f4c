import t from 'tap'
import { start } from './ask.ts'

const xml = (body: string) => ({ type: 'application/xml', body })

t.test('a group can be created, read and deleted with the texts of a real manager', async (t) => {
  const { ask } = await start(t)
  const say = async (request: string) => (await ask(request)).json
  await ask('PUT /agents/005/group/dmz?force_single_group')
  t.same(await say('PUT /agents/groups/recg'), { error: 0, data: "Group 'recg' created." })
  t.same(await say('PUT /agents/groups/recg'), { error: 1711, message: 'The group already exists' })
  t.same(await say('PUT /agents/005/group/recg?force_single_group=false'), {
    error: 0,
    data: "Group 'recg' set to agent '005'.",
  })
  t.match(await say('GET /agents/groups/recg'), { data: { items: [{ id: '005', group: ['recg'] }], totalItems: 1 } })
  t.match(await say('GET /agents/groups?search=recg'), { data: { items: [{ count: 1, name: 'recg' }] } })
  t.same(await say('DELETE /agents/005/group/recg'), { error: 0, data: 'Agent 005 set to group default.' })
  t.same(await say('DELETE /agents/005/group'), { error: 0, data: "Group unset for agent '005'." })
  t.same(await say('PUT /agents/006/group/recg'), { error: 0, data: "Group 'recg' added to agent '006'." })
  t.same(await say('PUT /agents/006/group/recg'), { error: 0, data: "Agent '006' already belongs to group 'recg'." })
  t.same(await say('DELETE /agents/group/recg?ids=005,006'), {
    error: 0,
    data: {
      msg: 'Some agents were not removed from group recg',
      affected_agents: ['006'],
      failed_ids: [{ id: '005', error: { message: 'Agent does not belong to the specified group', code: 1734 } }],
    },
  })
  t.same(await say('DELETE /agents/groups/recg'), {
    error: 0,
    data: { msg: 'All selected groups were removed', ids: ['recg'], affected_agents: [] },
  })
  t.same(await say('DELETE /agents/groups/recg'), {
    error: 0,
    data: {
      msg: 'Some groups were not removed',
      failed_ids: [{ id: 'recg', error: { message: 'The group does not exist: recg', code: 1710 } }],
      ids: [],
      affected_agents: [],
    },
  })
})

t.test('agents can be in several groups and return to default', async (t) => {
  const { ask } = await start(t)
  const groupsOf = async (id: string) => (await ask(`GET /agents/${id}?select=group`)).json?.data as object
  await ask('PUT /agents/001/group/web?force_single_group')
  await ask('PUT /agents/001/group/dmz')
  t.same(await groupsOf('001'), { group: ['web', 'dmz'] })
  t.same((await ask('DELETE /agents/001/group/web')).json?.data, "Group 'web' unset for agent '001'.")
  t.same(await groupsOf('001'), { group: ['dmz'] })
  const removed = (await ask('DELETE /agents/groups?ids=dmz,web')).json?.data as { affected_agents: string[] }
  t.ok(removed.affected_agents.includes('001'))
  t.same(await groupsOf('001'), { group: ['default'] })
  t.match((await ask('DELETE /agents/001/group/default')).json, { error: 1745 })
  t.match((await ask('PUT /agents/001/group/nope')).json, { error: 1710 })
  t.match((await ask('PUT /agents/000/group/default')).json, { error: 1703 })
  t.match((await ask('PUT /agents/999/group/default')).json, { error: 1701 })
  t.match((await ask('PUT /agents/001/group/made?force_single_group')).json, { error: 0 })
  t.match((await ask('GET /agents/groups/made')).json, { data: { totalItems: 1 } }, 'the missing group was made')
})

t.test('default ends a deletion at its place in the list', async (t) => {
  const { sim, ask } = await start(t)
  t.same((await ask('DELETE /agents/groups?ids=web,default,db')).json, {
    error: 1712,
    message: 'Default group is not removable',
  })
  t.notOk(sim.world.groups.has('web'))
  t.ok(sim.world.groups.has('db'))
})

t.test('many agents can be assigned at once; failed ids are plain texts', async (t) => {
  const { ask } = await start(t)
  const assign = async (body: string) => (await ask('POST /agents/group/db', { type: 'application/json', body })).json
  await ask('PUT /agents/groups/db2')
  t.same(await assign('{"ids":["001","002"]}'), {
    error: 0,
    data: { msg: 'All selected agents were assigned to group db', affected_agents: ['001', '002'] },
  })
  t.same(await assign('{"ids":["003","999","000"]}'), {
    error: 0,
    data: {
      msg: 'Some agents were not assigned to group db',
      affected_agents: ['003'],
      failed_ids: ['999', '000'],
    },
  })
})

t.test('the configuration of a group is checked, stored, shared and parsed', async (t) => {
  let clock = Date.UTC(2026, 1, 1)
  const { sim, ask } = await start(t, { now: () => new Date(clock) })
  const conf = '/agents/groups/default/configuration'
  await ask('PUT /agents/001/group/default?force_single_group')
  clock += 20_000
  t.same((await ask('GET /agents/001/group/is_sync')).json?.data, { synced: true })
  const text =
    '<agent_config os="Linux"><localfile><location>/var/log/x</location><log_format>syslog</log_format></localfile></agent_config>'
  t.same((await ask(`POST ${conf}`, xml(text))).json, {
    error: 0,
    data: 'Agent configuration was updated successfully',
  })
  t.same((await ask(`GET ${conf}`)).json?.data, {
    totalItems: 1,
    items: [{ filters: { os: 'Linux' }, config: { localfile: [{ location: '/var/log/x', log_format: 'syslog' }] } }],
  })
  t.same(
    (await ask('GET /agents/groups/default/files/agent.conf?format=xml')).json?.data,
    '<agent_config os="Linux">  <localfile>    <location>/var/log/x</location>    <log_format>syslog</log_format>  </localfile></agent_config>',
  )
  t.same((await ask('GET /agents/001/group/is_sync')).json?.data, { synced: false })
  clock += 20_000
  t.same((await ask('GET /agents/001/group/is_sync')).json?.data, { synced: true }, 'with its next keepalive')
  t.same((await ask(`POST ${conf}`, xml('<agent_config><bad/></agent_config>'))).json, {
    error: 1114,
    message: 'Wazuh syntax error',
  })
  for (const broken of ['text', '<a>', '<a b=c></a>', '<!-- only a comment -->']) {
    t.match(await ask(`POST ${conf}`, xml(broken)), { status: 400, json: { error: 703 } }, broken)
  }
  t.match((await ask('POST /agents/groups/default/files/other.conf', xml('<a></a>'))).json, { error: 1111 })
  t.match((await ask('POST /agents/groups/nope/configuration', xml('<a></a>'))).json, { error: 1710 })
  t.same(sim.thrown, [])
})

t.test('the files of a group are listed with their sums, and parsed by their type', async (t) => {
  const { ask } = await start(t)
  const data = async (path: string) => (await ask(`GET /agents/groups/default/files${path}`)).json
  t.match(await data('?limit=2'), {
    data: { items: [{ filename: 'agent.conf', hash: /^[0-9a-f]{32}$/ }, { filename: 'ar.conf' }], totalItems: 6 },
  })
  t.match(await data('?hash=sha256&limit=1'), { data: { items: [{ hash: /^[0-9a-f]{64}$/ }] } })
  t.match(await data('?hash=nope'), { error: 1723 })
  t.match(await data('/nope'), { error: 1006 })
  t.match(await data('/agent.conf?type=nope'), { error: 1104 })
  t.match(await data('/ar.conf'), { data: ['restart-ossec0 - restart-ossec.sh - 0'] })
  t.match(await data('/rootkit_files.txt'), { data: [{ filename: 'tmp/mcliZokhb', name: 'Bash door' }] })
  t.match(await data('/rootkit_trojans.txt'), { data: [{ filename: 'ls', description: '' }] })
  t.match(await data('/win_audit_rcl.txt'), { data: { vars: {}, controls: [{ condition: 'any', checks: [String] }] } })
})
