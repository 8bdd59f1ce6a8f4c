/** A repeated hit is refused by the form of its request, as the first one is. */
import t from 'tap'
import { request } from 'undici'
import { startSimulator } from '../../../packages/simulator/src/index.ts'
import { startEdge } from '../../support/edge.ts'

t.test('a name and a password, or HEAD, get no repeated hit of a v4 URL', async (t) => {
  const simulator = await startSimulator({ layout: 'v4', workers: 0, agents: 3, version: '4.14.7' })
  t.teardown(() => simulator.close())
  const edge = await startEdge({
    nodes: simulator.nodes,
    password: 'simulated',
    settings: { listen: { contract: 'v4' }, cluster: { layout: 'v4' } },
  })
  t.teardown(() => edge.close())
  const basic = edge.authorization('admin')
  const login = await request(`${edge.url}/security/user/authenticate?raw=true`, {
    method: 'POST',
    headers: { authorization: basic },
  })
  const bearer = `Bearer ${await login.body.text()}`
  const ask = async (method: 'GET' | 'HEAD', authorization: string) => {
    const response = await request(`${edge.url}/agents`, { method, headers: { authorization } })
    await response.body.dump()
    return [response.statusCode, /; hit/.test(String(response.headers['cache-status'] ?? ''))]
  }
  const first = [await ask('GET', bearer), await ask('GET', bearer), await ask('GET', bearer)]
  t.strictSame(first, [
    [200, false],
    [200, true],
    [200, true],
  ])
  t.strictSame(await ask('GET', basic), [401, false], 'the login has verified this password')
  t.strictSame(await ask('HEAD', bearer), [405, false])
  t.strictSame(await ask('GET', bearer), [200, true])
})
