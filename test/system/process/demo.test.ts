import t from 'tap'
import { program } from './program.ts'

t.test('demo starts a cluster with three users and prints a first call', async (t) => {
  const args = ['--port', '0', '--operations-port', '0', '--agents', '7', '--workers', '1', '--seed', '5']
  const demo = program(t, ['demo', ...args])
  const [, url = ''] = await demo.until(/listens on (\S+), operations on/)
  const [, operations = ''] = await demo.until(/operations on (\S+)/)
  await demo.until(/Press Ctrl-C to stop/)
  const passwords = ['admin', 'operator', 'reader'].map(
    (user) => new RegExp(`${user} +(\\S{12}) `).exec(demo.output())?.[1],
  )
  t.equal(new Set(passwords).size, 3, 'made up, and different')
  t.match(demo.output(), `curl -u admin:${passwords[0]} '${url}/agents?limit=3&pretty'`)
  t.match(url, 'http://127.0.0.1:')
  t.equal((await fetch(`${operations}/readyz`)).status, 200)
  const as = (user: string, at: number) => ({ headers: { authorization: `Basic ${btoa(`${user}:${passwords[at]}`)}` } })
  const agents = (await (await fetch(`${url}/agents`, as('admin', 0))).json()) as { data: { totalItems: number } }
  t.equal(agents.data.totalItems, 8, 'seven and the manager')
  t.equal((await fetch(`${url}/agents/000/key`, as('reader', 2))).status, 403, 'roles hold')
  demo.child.kill('SIGINT')
  t.equal((await demo.ended).code, 0)
})

t.test('demo --layout v4 serves both contracts from nodes of the v4 layout, and prints calls that work', async (t) => {
  const ports = ['--port', '0', '--operations-port', '0', '--v4-port', '0']
  const args = [...ports, '--agents', '7', '--workers', '1', '--layout', 'v4']
  const demo = program(t, ['demo', ...args, '--user-password', 'only-for-tests'])
  const [, url = '', second = ''] = await demo.until(/listens on (\S+), operations on \S+, .* 4\.x on (\S+)/)
  await demo.until(/Press Ctrl-C to stop/)
  const headers = { authorization: `Basic ${btoa('admin:only-for-tests')}` }
  const agents = (await (await fetch(`${url}/agents?select=id,status&limit=2`, { headers })).json()) as unknown
  const items = [
    { id: '000', status: 'Active' },
    { id: '001', status: 'Active' },
  ]
  t.same(agents, { error: 0, data: { items, totalItems: 8 } })
  const login = await fetch(`${second}/security/user/authenticate?raw=true`, { method: 'POST', headers })
  const bearer = { authorization: `Bearer ${await login.text()}` }
  const calls = [...demo.output().matchAll(/Bearer \$TOKEN" (?:-X (\w+) )?'([^']+)'/g)]
  t.equal(calls.length, 3)
  for (const [, method = 'GET', address = ''] of calls) {
    t.ok(address.startsWith(`${second}/`))
    const response = await fetch(address, { method, headers: bearer })
    t.equal(response.status, 200, `${method} ${address}`)
    t.match(await response.json(), { error: 0, data: { affected_items: [] } })
  }
  const changed = await fetch(`${url}/agents/001?select=id,group`, { headers })
  t.match(JSON.stringify(await changed.json()), 'dmz')
})
