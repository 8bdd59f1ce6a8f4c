/** Groups are removed with the names of their members, and never all of them. */
import t from 'tap'
import type { NodeCall } from '../../../../src/core/node-call.ts'
import { edgeRequest } from '../../upstream/edge-request.ts'
import { ask, recorded, success } from './recorded.ts'

const members = success([
  { id: '001', group: ['default', 'web'] },
  { id: '002', group: ['db'] },
  { id: '003', group: ['kept', 'web'] },
])
const remove = (ids: string) => edgeRequest('DELETE', '/agents/groups', { query: { ids } })
const missing = (id: string) => ({ error: { code: 1710, message: 'The group does not exist' }, id: [id] })

function node(removed: readonly string[], failed: readonly unknown[] = []) {
  return ({ method }: NodeCall) => (method === 'GET' ? members : success(removed, { failed }))
}

t.test('the members of the removed groups are read before, and named', async (t) => {
  const { calls, data } = await ask(remove('web,db'), node(['web', 'db']))
  t.same(calls, ['GET /agents?q=group=web,group=db&select=id,group&limit=100000', 'DELETE /groups?groups_list=web,db'])
  t.same(data, {
    msg: 'All selected groups were removed',
    ids: ['web', 'db'],
    affected_agents: ['001', '002', '003'],
  })
})

t.test('members of a group that was not removed are not affected', async (t) => {
  const { data } = await ask(remove('web,db'), node(['db'], [missing('web')]))
  t.same(data, {
    msg: 'Some groups were not removed',
    failed_ids: [{ id: 'web', error: { message: 'The group does not exist: web', code: 1710 } }],
    ids: ['db'],
    affected_agents: ['002'],
  })
})

t.test('a group named all does not exist: for the node the word means all groups', async (t) => {
  const failed_ids = [{ id: 'all', error: { message: 'The group does not exist: all', code: 1710 } }]
  const request = edgeRequest('DELETE', '/agents/groups/:group_id', { params: { group_id: 'all' } })
  const alone = await ask(request, node(['web']))
  t.same(alone.calls, [])
  t.same(alone.data, { msg: 'Some groups were not removed', failed_ids, ids: [], affected_agents: [] })
  const others = await ask(remove('all,web'), node(['web']))
  t.equal(others.calls.at(-1), 'DELETE /groups?groups_list=web')
  t.same(others.data, {
    msg: 'Some groups were not removed',
    failed_ids,
    ids: ['web'],
    affected_agents: ['001', '003'],
  })
})

t.test('nothing is removed if the default group is among the groups', async (t) => {
  const { calls, json } = await ask(remove('web,default'), node(['web']))
  t.same(calls, [])
  t.same(json, { error: 1712, message: 'Default group is not removable' })
})

t.test('many groups have several queries for their members and one call that removes them', async (t) => {
  const names = Array.from({ length: 300 }, (_, index) => `group-number-${index}`)
  const { calls } = await ask(remove(names.join(',')), node(names))
  t.equal(calls.filter((call) => call.startsWith('DELETE')).length, 1)
  t.equal(calls.length, 3)
  for (const call of calls) t.ok(call.length < 8_000, `${call.length} bytes`)
})

t.test('nothing is removed if the members cannot be read', async (t) => {
  const { calls, status } = await ask(remove('web'), () => recorded('GET /agents?limit=0'))
  t.same(calls.length, 1)
  t.not(status, 0)
})
