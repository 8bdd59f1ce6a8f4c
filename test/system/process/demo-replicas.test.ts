import t from 'tap'
import { program, result } from './program.ts'

const run = (command: string, user: string): Promise<Response> => {
  const [, method = 'GET', url = ''] = /^curl -u \S+ (?:-X (PUT) )?'?(http[^' ]+)/.exec(command) ?? []
  return fetch(url, { method, headers: { authorization: `Basic ${btoa(user)}` } })
}

t.test('demo --replicas 2 --redis prints calls that show the coherence of the cache', async (t) => {
  const args = ['--port', '0', '--operations-port', '0', '--agents', '7', '--replicas', '2', '--redis']
  // Settings of the environment reach none of the replicas, so all have the same.
  const env = { EDGE_LISTEN_HOST: '127.0.0.2' }
  const demo = program(t, ['demo', ...args, '--user-password', 'only-for-tests'], { env })
  await demo.until(/Press Ctrl-C to stop/)
  t.notMatch(demo.output(), '127.0.0.2')
  const lines = demo.output().split('See the shared cache')[1]?.split('\n') ?? []
  const [read = '', ...changes] = lines.flatMap((line) => (line.includes('curl') ? line.trim().split(' && ') : []))
  const user = 'admin:only-for-tests'
  const statusOf = (response: Response) => response.headers.get('cache-status') ?? ''
  t.match(await (await run(read, user)).text(), '"id":"001"')
  t.match(statusOf(await run(read, user)), '; hit', 'the response is stored')
  t.equal(changes.length, 2)
  for (const command of changes) {
    const response = await run(command, user)
    t.equal(response.status, 200)
    if (command.includes('PUT')) t.match(await response.json(), { error: 0 })
    else {
      t.notMatch(statusOf(response), '; hit', 'read again, because the other replica changed the data')
      t.match(await response.text(), 'dmz', 'with the change')
    }
  }
  t.not(new URL(read.split("'")[1] ?? '').port, new URL(/http[^ ]+/.exec(changes[0] ?? '')?.[0] ?? '').port)
  t.notMatch(demo.output(), / WARN /, 'no warning')
  demo.child.kill('SIGINT')
  t.equal((await demo.ended).code, 0)
})

t.test('demo with several replicas needs Redis, and names what is missing', async (t) => {
  const without = await result(t, ['demo', '--replicas', '2'])
  t.equal(without.code, 2)
  t.equal(without.err, 'replicas share the cache through Redis; add --redis\n')
  const nowhere = await result(t, ['demo', '--port', '0', '--operations-port', '0', '--redis'], { env: { PATH: '/' } })
  t.equal(nowhere.code, 1)
  t.match(nowhere.err, 'redis-server is not installed; install it')
})
