import t from 'tap'
import { startV4 } from './ask.ts'

t.test('values have the forms of the v4 layout', async (t) => {
  const { sim, ask } = await startV4(t)
  const agents = [...sim.world.agents.values()].filter(({ id }) => id !== '000')
  const live = agents.find(({ version }) => version === 'Wazuh v4.5.4')?.id
  const old = agents.find(({ version }) => version?.startsWith('Wazuh v3.'))?.id
  const agent = (await ask(`GET /agents?agents_list=${live}`)).json?.data?.affected_items?.[0]
  t.match(agent, {
    status: 'active',
    lastKeepAlive: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00$/,
    dateAdd: /\+00:00$/,
    group_config_status: 'synced',
  })
  t.notOk(Object.hasOwn(agent ?? {}, 'internal_key'), 'only if it is selected')
  t.match(await ask(`GET /agents?agents_list=${live}&select=internal_key`), {
    json: { data: { affected_items: [{ internal_key: String, id: live }] } },
  })
  t.match((await ask('GET /manager/stats/remoted')).text, /"total_queue_size":131072\.0,/)
  t.match(await ask('GET /manager/status'), {
    json: { data: { affected_items: [{ 'wazuh-analysisd': 'running', 'wazuh-apid': 'running' }] } },
  })
  t.match(await ask(`GET /syscollector/${live}/hardware`), {
    json: { data: { affected_items: [{ scan: { id: 0, time: /\+00:00$/ }, agent_id: live }] } },
  })
  t.match(await ask(`GET /syscheck/${live}?limit=1&select=file,perm&q=perm!=null`), {
    json: { data: { affected_items: [{ perm: /^[rwx-]{9}$/ }] } },
  })
  t.match(await ask(`GET /syscheck/${old}?limit=1&select=file,perm&q=perm!=null`), {
    json: { data: { affected_items: [{ perm: Number }] } },
  })
  t.match((await ask('GET /agents?limit=1&pretty=true')).text, /^\{\n {3}"data": \{\n {6}"affected_items": \[/)
})

t.test('agents beyond 999 are in the order of their numbers', async (t) => {
  const { ask } = await startV4(t, { agents: 1002 })
  const ids = async (query: string) => {
    const { json } = await ask(`GET /agents?select=id&${query}`)
    return json?.data?.affected_items?.map(({ id }) => id)
  }
  t.same(await ids('sort=-id&limit=4'), ['1002', '1001', '1000', '999'])
  t.same(await ids('offset=999&limit=3'), ['999', '1000', '1001'])
  const merged = await ask('PUT /syscheck?agents_list=1001,999,002')
  t.same(merged.json?.data?.affected_items, ['002', '999', '1001'])
})

t.test('experimental calls limit the rows of each agent, and need a database of each', async (t) => {
  const { ask } = await startV4(t)
  const two = await ask('GET /experimental/syscollector/packages?agents_list=001,002&limit=2')
  t.equal(two.json?.data?.affected_items?.length, 4)
  t.match(await ask('GET /experimental/syscollector/packages?agents_list=001,020'), {
    status: 400,
    json: { error: 2007 },
  })
  const { ask: askOff } = await startV4(t, { experimental: false })
  t.match(await askOff('GET /experimental/syscollector/packages'), { status: 404, json: { error: 1122 } })
})
