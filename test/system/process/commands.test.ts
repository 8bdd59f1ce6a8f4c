import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { stringify } from 'yaml'
import { startSimulator } from '../../../src/simulator/index.ts'
import { freePort } from '../../support/redis.ts'
import { program, result } from './program.ts'

t.test('--help and --version print, and unknown commands or options exit with code 2', async (t) => {
  const help = await result(t, ['--help'])
  t.equal(help.code, 0)
  for (const name of ['start', 'demo', 'check', 'user', 'token', 'audit', 'warm', 'routes', 'openapi'])
    t.match(help.out, ` ${name} `)
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
  t.strictSame((await result(t, ['--version'])).out, `${version}\n`)
  for (const args of [['strat'], ['start', '--nothing'], ['user', 'add'], ['demo', '--agents', 'many'], []]) {
    const { code, err } = await result(t, args)
    t.equal(code, 2, `${args.join(' ')}: code`)
    t.not(err, '', `${args.join(' ')}: says why`)
  }
  t.match((await result(t, ['strat'])).err, 'Did you mean start?')
})

t.test('user adds, changes, lists and removes users', async (t) => {
  const folder = t.testdir({})
  const file = join(folder, 'users')
  const user = (args: string[], input = '') => result(t, ['user', ...args, '--file', file], { input })

  const added = await user(['add', 'alice', '--cost', '4'], 'correct horse\n')
  t.equal(added.code, 0)
  t.match(added.out, `added alice in ${file}`)
  t.match(added.out, 'access.roles: { alice: [reader] }', 'names the next step')
  t.match(readFileSync(file, 'utf8'), /^alice:\$2[aby]\$04\$/)
  t.equal(statSync(file).mode & 0o777, 0o600, 'readable for this user only')

  t.match((await user(['add', 'alice', '--cost', '4'], 'another horse\n')).out, 'replaced alice')
  const made = await user(['add', 'bob', '--generate', '--cost', '4'])
  t.match(made.out, /^password: [\w-]{24}\nadded bob/)
  t.equal((await user(['list'])).out, 'alice\nbob\n')
  t.equal((await user(['remove', 'alice'])).code, 0)
  t.equal((await user(['list'])).out, 'bob\n')

  const none = await user(['remove', 'alice'])
  t.equal(none.code, 1)
  t.match(none.err, 'has no user alice; "user list" lists them')
  const noInput = await user(['add', 'eve'])
  t.equal(noInput.code, 1)
  t.match(noInput.err, 'standard input has no password')
  t.equal((await user(['add', 'a:b'], 'x\n')).code, 1)
  const nowhere = join(folder, 'nowhere')
  for (const args of [
    ['user', 'list', '--file', nowhere],
    ['audit', 'verify', nowhere],
  ]) {
    const { code, err } = await result(t, args)
    t.equal(code, 1)
    t.equal(err, `${nowhere} cannot be opened (ENOENT); check the path and the permissions of this user\n`)
  }
})

t.test('routes and openapi print the catalogue', async (t) => {
  const routes = await result(t, ['routes'])
  t.match(routes.out, /^METHOD +PATH +PERMISSION/)
  t.match(routes.out, /GET +\/agents\/:agent_id +agents:read/)
  const openapi = await result(t, ['openapi', '--server', 'https://edge.example'])
  t.match(JSON.parse(openapi.out), { openapi: '3.1.0', servers: [{ url: 'https://edge.example' }] }, 'whole JSON')
})

t.test('check finds each fault of a configuration, and token issues a token that the edge accepts', async (t) => {
  const account = { username: 'edge', password: 'only-for-tests' }
  const simulator = await startSimulator({ workers: 1, agents: 3, ...account })
  t.teardown(() => simulator.close())
  const folder = t.testdir({ subfolder: {} })
  const file = join(folder, 'edge.yaml')
  const keys = join(folder, 'keys')
  const write = (cluster: object = {}, more: object = {}) =>
    writeFileSync(
      file,
      stringify({
        listen: { port: 0 },
        operations: { port: 0 },
        cluster: {
          nodes: simulator.nodes.map(({ name, type, url }) => ({ name, type, url })),
          credentials: account,
          ...cluster,
        },
        access: { users: 'users', roles: { alice: ['reader'] }, tokens: { keys: 'keys' } },
        ...more,
      }),
    )
  write()
  await result(t, ['user', 'add', 'alice', '--file', join(folder, 'users'), '--cost', '4'], { input: 'pw-of-alice\n' })

  const missing = await result(t, ['check', '--config', file])
  t.equal(missing.code, 2)
  t.match(missing.err, 'access.tokens.keys')
  const key = await result(t, ['token', 'key', keys])
  t.equal(key.out, `${join(keys, key.out.split('/').at(-1) ?? '')}`, 'prints the file')
  t.equal(statSync(key.out.trim()).mode & 0o777, 0o600)

  const good = await result(t, ['check', '--config', file, '--connect'])
  t.equal(good.code, 0, good.err)
  t.match(good.out, /master: ok \(status 200\)\nworker-1: ok \(status 200\)\nok\n$/)
  t.notMatch(good.out + good.err, account.password, 'no secret')

  const edge = program(t, ['start', '--config', file])
  const [, url] = await edge.until(/"url":"([^"]+)"/)
  const { out: token, err: lifetime } = await result(t, ['token', 'issue', 'alice', '--config', file])
  t.match(lifetime, 'valid for 900 s')
  const answer = await fetch(`${url}/agents`, { headers: { authorization: `Bearer ${token.trim()}` } })
  t.equal(answer.status, 200, 'the token is accepted')
  const unknown = await result(t, ['token', 'issue', 'eve', '--config', file])
  t.equal(unknown.code, 1)
  t.match(unknown.err, 'has no user eve')
  edge.child.kill('SIGTERM')
  await edge.ended

  write({ credentials: { ...account, password: 'another one' } })
  const refused = await result(t, ['check', '--config', file, '--connect'])
  t.equal(refused.code, 1)
  t.match(refused.out, 'master: failed: refusedCredentials, status 401; correct cluster.credentials')
  t.match(refused.err, '2 of 2 nodes cannot be used')

  write({}, { cache: { redis: { url: `redis://127.0.0.1:${await freePort()}` } } })
  const noRedis = await result(t, ['check', '--config', file, '--connect'])
  t.equal(noRedis.code, 1)
  t.match(noRedis.out, /worker-1: ok \(status 200\)\nredis: failed: .*ECONNREFUSED/)
  t.match(noRedis.err, /^Redis cannot be used; the lines above/)

  write({ credentials: { mode: 'passthrough' } }, { access: {} })
  const asCallers = await result(t, ['check', '--config', file, '--connect'])
  t.equal(asCallers.code, 0, asCallers.err)
  t.match(asCallers.out, /^distribution manager$/m, 'no account, so no discovery')
  t.match(asCallers.out, /worker-1: ok \(status 401, it requires credentials\)\nok\n$/)

  write({}, { audit: { file: 'audit.jsonl' } })
  t.equal((await result(t, ['check', '--config', file])).code, 0)
  t.notOk(existsSync(join(folder, 'audit.jsonl')), 'check does not create the audit file')
  write({}, { audit: { file: 'subfolder' } })
  const nowhere = await result(t, ['check', '--config', file])
  t.equal(nowhere.code, 1)
  t.match(nowhere.err, /audit\.file: \S+ cannot be opened \(EISDIR\)/)

  writeFileSync(join(folder, 'users'), 'no colon\n')
  const broken = await result(t, ['check', '--config', file])
  t.equal(broken.code, 1)
  t.match(broken.err, /users file .* line 1: no colon/)
})

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
