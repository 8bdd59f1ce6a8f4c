/** Spellings of agent ids, and responses with keys of agents, for clients of the v4 contract. */
import t from 'tap'
import { simulated } from '../../support/simulated.ts'

t.test('spellings of an agent id share a stored response, and keys need secrets:read', async (t) => {
  const { edge } = await simulated(
    t,
    { layout: 'v4', workers: 1, agents: 12 },
    { settings: { listen: { contract: 'v4' }, cluster: { layout: 'v4' } } },
  )
  const logIn = async (user: string) => {
    const headers = { authorization: edge.authorization(user) }
    const login = await fetch(`${edge.url}/security/user/authenticate?raw=true`, { method: 'POST', headers })
    return { authorization: `Bearer ${await login.text()}` }
  }
  const [admin, reader] = [await logIn('admin'), await logIn('reader')]
  const get = (path: string, headers: Record<string, string>) => fetch(edge.url + path, { headers })
  const first = await get('/sca/001', reader)
  t.equal(first.status, 200)
  const second = await get('/sca/0001', reader)
  t.match(second.headers.get('cache-status'), /hit/)
  t.equal(await second.text(), await first.text())
  for (const path of ['/agents?select=internal_key', '/agents?sort=-internal_key', '/agents/stats/distinct']) {
    t.equal((await get(path, reader)).status, 403, path)
    const allowed = await get(path, admin)
    t.notMatch(allowed.headers.get('cache-status') ?? '', /stored/, path)
    t.not(allowed.status, 403, path)
  }
  t.equal((await get('/security/users', reader)).status, 200)
  const role = { method: 'POST', headers: { ...reader, 'content-type': 'application/json' }, body: '{"name":"own"}' }
  t.equal((await fetch(`${edge.url}/security/roles`, role)).status, 403)
})
