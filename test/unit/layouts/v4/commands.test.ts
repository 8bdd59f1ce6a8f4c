/** Commands to agents behind a node with the v4 layout. */
import t from 'tap'
import { edgeRequest } from '../../upstream/edge-request.ts'
import { ask, askRecorded, recorded, success } from './recorded.ts'

const agent = (agent_id: string) => ({ params: { agent_id } })
const missing = (...id: readonly string[]) => ({ error: { code: 1701, message: 'Agent does not exist' }, id })

t.test('listed agents are restarted, failed ones named one by one', async (t) => {
  const body = { kind: 'fields', fields: { ids: ['001', '998', '999'] } } as const
  const request = edgeRequest('POST', '/agents/restart', { body })
  const { calls, data } = await ask(request, () => success(['001'], { failed: [missing('998', '999')] }))
  t.same(calls, ['PUT /agents/restart?agents_list=001,998,999'])
  t.same(data, {
    msg: 'Some agents were not restarted',
    affected_agents: ['001'],
    failed_ids: [
      { id: '998', error: { message: 'Agent does not exist: 998', code: 1701 } },
      { id: '999', error: { message: 'Agent does not exist: 999', code: 1701 } },
    ],
  })
})

t.test('a list without agents is refused: the node would restart all of them', async (t) => {
  for (const fields of [{ ids: [] }, { ids: '' }, {}]) {
    const request = edgeRequest('POST', '/agents/restart', { body: { kind: 'fields', fields } })
    const { calls, status, json } = await ask(request, () => success(['001']))
    t.same(calls, [])
    t.equal(status, 400)
    t.match(json, { error: 604 })
  }
})

t.test('all agents are restarted', async (t) => {
  const { calls, data } = await askRecorded('PUT /agents/restart', {}, 'PUT /agents/restart')
  t.same([calls, data], [['PUT /agents/restart'], 'Restarting all agents'])
})

t.test('the manager itself and inactive agents are not restarted', async (t) => {
  const manager = await askRecorded('PUT /agents/:agent_id/restart', agent('000'), 'PUT /agents/000/restart')
  t.same(manager.data, {
    msg: 'Some agents were not restarted',
    affected_agents: [],
    failed_ids: [{ id: '000', error: { message: 'Action not available for Manager (Agent 000)', code: 1703 } }],
  })
  const inactive = await askRecorded('PUT /agents/:agent_id/restart', agent('004'), 'PUT /agents/004/restart')
  t.match(inactive.data, {
    failed_ids: [{ error: { message: 'Impossible to restart non-active agent: 004', code: 1707 } }],
  })
})

t.test('a group without agents is error 1750', async (t) => {
  const request = edgeRequest('PUT', '/agents/groups/:group_id/restart', { params: { group_id: 'g' } })
  const restarted = await ask(request, () => success(['001']))
  t.same(restarted.calls, ['PUT /agents/group/g/restart'])
  t.same(restarted.data, { msg: 'All selected agents were restarted', affected_agents: ['001'] })
  const empty = await ask(request, () => success([]))
  t.same(empty.json, { error: 1750, message: 'Group does not exist or it is empty' })
})

const respond = (agent_id: string, fields: Record<string, unknown>) =>
  edgeRequest('PUT', '/active-response/:agent_id', { ...agent(agent_id), body: { kind: 'fields', fields } })

t.test('a command is sent to one agent', async (t) => {
  const { calls, data } = await ask(
    respond('001', { command: '!firewall-drop', arguments: ['-', 'x'] }),
    ({ body }) => {
      t.same(JSON.parse(body?.bytes.toString() ?? ''), { command: '!firewall-drop', arguments: ['-', 'x'] })
      return success(['001'])
    },
  )
  t.same([calls, data], [['PUT /active-response?agents_list=001'], 'Command sent.'])
})

t.test('without a command nothing is sent', async (t) => {
  for (const fields of [{}, { command: '' }]) {
    const { calls, json } = await ask(respond('001', fields), () => success(['001']))
    t.same([calls, json], [[], { error: 1650, message: 'Active response - Bad arguments' }])
  }
})

t.test('an inactive agent gets no command', async (t) => {
  const inactive = { error: { code: 1707, message: 'Cannot send request, agent is not active' }, id: ['008'] }
  const { json } = await ask(respond('008', { command: 'firewall-drop0' }), () => success([], { failed: [inactive] }))
  t.same(json, { error: 1651, message: 'Active response - Agent is not active' })
})

const upgrade = (query: Record<string, string>) =>
  edgeRequest('PUT', '/agents/:agent_id/upgrade', { ...agent('003'), query })

t.test('the version of an upgrade is not the one that selects agents', async (t) => {
  const query = { version: 'v4.5.0', use_http: 'true', force: '1', wpk_repo: 'packages.example/wpk/' }
  const { calls, data } = await ask(upgrade(query), () => recorded('PUT /agents/upgrade?agents_list=003'))
  t.same(calls, [
    'PUT /agents/upgrade?agents_list=003&wpk_repo=packages.example/wpk/&upgrade_version=v4.5.0&use_http=true&force=true',
  ])
  t.equal(data, 'Upgrade procedure started')
})

t.test('0 and false are sent as false', async (t) => {
  const { calls } = await ask(upgrade({ use_http: 'false', force: '0' }), () => success([{ agent: '003', task_id: 1 }]))
  t.same(calls, ['PUT /agents/upgrade?agents_list=003&use_http=false&force=false'])
})

t.test('upgrades that are not started say why', async (t) => {
  for (const [call, json] of [
    ['PUT /agents/upgrade?agents_list=004', { error: 1720, message: 'Agent disconnected' }],
    ['PUT /agents/upgrade?agents_list=999', { error: 1701, message: 'Agent does not exist' }],
    ['PUT /agents/upgrade?agents_list=000', { error: 1703, message: 'Action not available for Manager (Agent 000)' }],
    [
      'PUT /agents/upgrade?agents_list=003&upgrade_version=4.5.0',
      { error: 1716, message: 'Upgrade procedure could not start. Agent already upgrading' },
    ],
  ] as const) {
    t.same((await ask(upgrade({}), () => recorded(call))).json, json)
  }
})

t.test('a version that is none is error 1718', async (t) => {
  const refused = () => recorded('PUT /agents/upgrade?agents_list=003&upgrade_version=zz%7C')
  t.match((await ask(upgrade({ version: 'zz|' }), refused)).json, { error: 1718 })
})

t.test('an upgrade from a file needs the file and the installer', async (t) => {
  const of = (query: Record<string, string>) =>
    edgeRequest('PUT', '/agents/:agent_id/upgrade_custom', { ...agent('003'), query })
  const file_path = '/var/ossec/var/upgrade/x.wpk'
  for (const query of [{}, { file_path }, { installer: 'upgrade.sh' }]) {
    const { calls, json } = await ask(of(query), () => success([]))
    t.same([calls, json], [[], { error: 1307, message: 'Invalid parameters' }])
  }
  const { calls, data } = await ask(of({ file_path, installer: 'upgrade.sh' }), () =>
    success([{ agent: '003', task_id: 2 }]),
  )
  t.same(calls, [`PUT /agents/upgrade_custom?agents_list=003&file_path=${file_path}&installer=upgrade.sh`])
  t.equal(data, 'Installation started')
})
