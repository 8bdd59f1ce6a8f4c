import t from 'tap'
import { startV4 } from './ask.ts'

const users = {
  reader: { password: 'r', roles: ['readonly'] },
  nobody: { password: 'n' },
  one: { password: 'o', roles: [{ actions: ['agent:read', 'syscheck:run'], resources: ['agent:id:001'] }] },
  web: { password: 'w', roles: [{ actions: ['agent:read'], resources: ['agent:group:web'] }] },
} as const

const DENIED = { status: 403, json: { title: 'Permission Denied', error: 4000 } }

t.test('lists are cut to what a user may see, without an error', async (t) => {
  const { sim, ask } = await startV4(t, { v4: { users, ownCacheMs: 0 } })
  t.match(await ask('GET /agents', { user: 'nobody' }), {
    status: 200,
    json: { data: { affected_items: [] }, error: 0 },
  })
  t.match(await ask('GET /rules', { user: 'nobody' }), { json: { data: { total_affected_items: 0 }, error: 0 } })
  const one = await ask('GET /agents?select=id', { user: 'one' })
  t.same(one.json?.data?.affected_items, [{ id: '001' }])
  const members = [...sim.world.agents.values()]
    .filter(({ groups }) => groups.includes('web'))
    .map(({ id }) => ({ id }))
  t.same((await ask('GET /agents?select=id', { user: 'web' })).json?.data?.affected_items, members)
  t.match(await ask('GET /agents/summary/status', { user: 'one' }), { json: { data: { connection: { total: 1 } } } })
  t.same((await ask('PUT /syscheck', { user: 'one' })).json?.data?.affected_items, ['001'])
})

t.test('named objects are denied, or fail one by one', async (t) => {
  const { ask } = await startV4(t, { v4: { users } })
  t.match(await ask('GET /agents?agents_list=002', { user: 'one' }), DENIED)
  const some = await ask('GET /agents?agents_list=001,002&select=id', { user: 'one' })
  t.match(some, { status: 200, json: { error: 2, data: { failed_items: [{ error: { code: 4000 }, id: ['002'] }] } } })
  t.same(some.json?.data?.affected_items, [{ id: '001' }])
  t.match(await ask('GET /manager/info', { user: 'nobody' }), DENIED)
  const body = JSON.stringify({ name: 'new-agent' })
  t.match(await ask('POST /agents', { user: 'reader', type: 'application/json', body }), DENIED)
  t.match(await ask('GET /agents/001/key', { user: 'reader' }), { status: 200 }, 'a reader sees keys of agents')
})

t.test('the cache of a node answers calls about rules to everyone', async (t) => {
  let now = new Date('2026-11-22T10:00:00Z')
  const { ask } = await startV4(t, { now: () => now, v4: { users } })
  await ask('GET /rules?limit=1')
  t.match(await ask('GET /rules?limit=1', { authorization: '' }), {
    status: 200,
    json: { data: { affected_items: [{}] } },
  })
  now = new Date(now.getTime() + 750)
  t.equal((await ask('GET /rules?limit=1', { authorization: '' })).status, 401)
})
