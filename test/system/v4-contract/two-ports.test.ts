/** One edge serves clients of both contracts: the second port has the other one. */
import t from 'tap'
import { simulated } from '../../support/simulated.ts'

t.test('a client of the v4 contract logs in, reads and writes; a v3 client sees the write', async (t) => {
  const { edge } = await simulated(
    t,
    { layout: 'v4', workers: 1, agents: 12 },
    { settings: { listen: { secondPort: 0 }, cluster: { layout: 'v4' } } },
  )
  const url = edge.secondUrl ?? ''
  const login = await fetch(`${url}/security/user/authenticate`, {
    method: 'POST',
    headers: { authorization: edge.authorization('admin') },
  })
  t.equal(login.status, 200)
  const { data } = (await login.json()) as { data: { token: string } }
  const headers = { authorization: `Bearer ${data.token}` }
  const get = async (path: string) => {
    const response = await fetch(url + path, { headers })
    return { status: response.status, cache: response.headers.get('cache-status') ?? '', body: await response.json() }
  }
  const first = await get('/agents?limit=2&select=id,name')
  t.equal(first.status, 200)
  t.match(first.body, { data: { total_affected_items: 13 }, error: 0 })
  t.match((await get('/agents?select=id,name&limit=2')).cache, /hit/)
  const refused = await fetch(`${url}/agents?limit=x`, { headers })
  t.equal(refused.status, 400)
  t.equal(refused.headers.get('content-type'), 'application/problem+json; charset=utf-8')
  t.strictSame(await refused.json(), {
    title: 'Bad Request',
    detail: "Wrong type, expected 'integer' for query parameter 'limit'",
  })
  t.equal((await fetch(`${url}/agents`)).status, 401)
  const ofApp = await fetch(`${url}/agents`, { headers: { ...headers, 'wazuh-app-version': 'x' } })
  t.equal(ofApp.status, 200, 'releases 4.x ignore the version of an app')
  t.equal((await fetch(`${url}/nope`)).status, 404)
  t.equal((await fetch(`${url}/agents`, { method: 'PATCH' })).status, 405)
  const v3 = async () => {
    const response = await fetch(`${edge.url}/agents/groups`, {
      headers: { authorization: edge.authorization('admin') },
    })
    return JSON.stringify(await response.json())
  }
  t.notMatch(await v3(), 'shared-group')
  const added = await fetch(`${url}/groups`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({ group_id: 'shared-group' }),
  })
  t.equal(added.status, 200, await added.text())
  t.match(await v3(), 'shared-group')
})
