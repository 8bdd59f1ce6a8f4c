/** A write of the v4 contract whose items have all failed is finished, so the cache goes on at once. */
import t from 'tap'
import { simulated } from '../../support/simulated.ts'

t.test('after a write whose items failed, reads are stored again', async (t) => {
  const { edge } = await simulated(
    t,
    { layout: 'v4', workers: 1, agents: 12 },
    { settings: { listen: { contract: 'v4' }, cluster: { layout: 'v4' } } },
  )
  const logIn = { method: 'POST', headers: { authorization: edge.authorization('admin') } }
  const token = await (await fetch(`${edge.url}/security/user/authenticate?raw=true`, logIn)).text()
  const send = async (path: string, method = 'GET') => {
    const response = await fetch(edge.url + path, { method, headers: { authorization: `Bearer ${token}` } })
    return { cache: response.headers.get('cache-status') ?? '', status: response.status, body: await response.json() }
  }
  t.notMatch((await send('/groups')).cache, /hit/)
  t.match((await send('/groups')).cache, /hit/)
  const refused = await send('/groups?groups_list=no-such-group', 'DELETE')
  t.match(refused, { status: 200, body: { error: 1, data: { total_failed_items: 1 } } })
  t.notMatch((await send('/groups')).cache, /hit/)
  t.match((await send('/groups')).cache, /hit/, 'no fence is left')
})
