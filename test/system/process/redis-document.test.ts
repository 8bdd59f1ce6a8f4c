/** The commands of docs/redis.md, with a real Redis, and every mistake that the page names. */
import { execFile } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { parse, stringify } from 'yaml'
import { freePort } from '../../../packages/simulator/src/free-port.ts'
import { startSimulator } from '../../../packages/simulator/src/index.ts'
import { checkRedis } from '../../../src/cli/check.ts'
import { loadConfig } from '../../../src/config/index.ts'
import { commandsOfRights } from '../../../src/replicas/commands.ts'
import { installed } from '../../support/installed.ts'
import { redisBinary } from '../../support/redis.ts'

const page = readFileSync('docs/redis.md', 'utf8')
const blocks = (language: string) =>
  [...page.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].flatMap(([, name, text = '']) => (name === language ? text : []))
/** The causes of the table. */
const causes = [...page.matchAll(/^\| (.+) \| `([^`]+)`.* \|$/gm)].map(([, mistake = '', cause = '']) => ({
  mistake,
  cause,
}))
const PASSWORD = 'only-for-tests'

const folder = t.testdir({ bin: {}, redis: {}, edge: {} })
const port = await freePort()
const plainPort = await freePort()
// Not in the folder of the test, which tap removes before the teardown.
const pidFile = join(tmpdir(), `manager-edge-redis-${port}.pid`)
/** Puts the folders and the address of the test in the place of those of the page. */
const here = (text: string) =>
  text
    .replaceAll('/etc/redis', join(folder, 'redis'))
    .replaceAll('/etc/manager-edge', join(folder, 'edge'))
    .replaceAll('10.0.0.20', '127.0.0.1')
    .replaceAll('6379', `${port}`)
    .replace('bind * -::*', 'bind 127.0.0.1')

// Programs that need what only an installation has: its service, its users, its second machine, its command.
// As systemd, it kills a Redis that does not end: one that had died would leave its file for ever.
const stop = `if [ -f ${pidFile} ]; then
  pid=$(cat ${pidFile}); kill $pid || true
  for i in $(seq 200); do [ -f ${pidFile} ] || break; sleep 0.05; done
  kill -9 $pid 2>/dev/null || true; rm -f ${pidFile}
fi`
const start = `${redisBinary()} ${folder}/redis/redis.conf --daemonize yes --pidfile ${pidFile} --dir ${folder}`
const programs = {
  systemctl: `${stop}\n${start} >${folder}/log\nfor i in $(seq 100); do [ -f ${pidFile} ] && exit 0; sleep 0.05; done; cat ${folder}/log; exit 1`,
  chown: 'exit 0',
  scp: 'exec cp "$(echo "$1" | cut -d: -f2)" "$2"',
  'manager-edge': `exec ${process.execPath} ${resolve('dist/cli.js')} "$@"`,
}
for (const [name, text] of Object.entries(programs)) {
  writeFileSync(join(folder, 'bin', name), `#!/bin/bash\n${text}\n`)
  chmodSync(join(folder, 'bin', name), 0o755)
}
installed({ variable: 'OPENSSL', names: ['openssl'], package: 'openssl' })
installed({ variable: 'REDIS_CLI', names: ['redis-cli'], package: 'redis-tools' })

/** Runs commands of the page. Resolves with their output. */
async function run(commands: string): Promise<string> {
  const env = { ...process.env, PATH: `${join(folder, 'bin')}${delimiter}${process.env.PATH}` }
  const { stdout } = await promisify(execFile)('bash', ['-eu', '-o', 'pipefail', '-c', here(commands)], { env })
  return stdout
}
t.teardown(() => run(stop))

const [certificates = '', user = '', settings = '', tryUser = '', replica = '', check = ''] = blocks('sh')
const [yaml = ''] = blocks('yaml')
const file = join(folder, 'edge/edge.yaml')

type RedisSettings = Record<string, unknown>
/** Writes the settings of the edge. `change` gets those of `cache.redis`. */
async function configure(change: (redis: RedisSettings) => void = () => undefined): Promise<void> {
  const own = parse(here(yaml))
  change(own.cache.redis)
  const nodes = simulator.nodes.map(({ name, type, url }) => ({ name, type, url }))
  const cluster = { nodes, credentials: { username: 'edge', passwordFile: 'secrets/manager' } }
  writeFileSync(file, stringify({ ...own, cluster, access: { users: 'users', roles: {} } }))
}

const simulator = await startSimulator({ workers: 0, agents: 2, username: 'edge', password: PASSWORD })
t.teardown(() => simulator.close())

t.test('the commands of the page set up a Redis that the edge can use', async (t) => {
  t.match(await run(certificates), /redis\.crt: OK/)
  await run(user)
  await run(settings)
  t.equal(await run(tryUser), 'OK\n')
  await run(replica)
  mkdirSync(join(folder, 'edge/secrets'), { recursive: true })
  writeFileSync(join(folder, 'edge/secrets/manager'), PASSWORD)
  writeFileSync(join(folder, 'edge/users'), '')
  await configure()
  t.match(await run(check), /^redis: ok$/m)
})

t.test('each right of the page is tried', async (t) => {
  const rights = /^user edge on \S+ (.*)$/m.exec(page)?.[1]?.split(' ') ?? []
  const tried = commandsOfRights(true).map(([name, member]) => (name === 'cluster' ? `cluster|${member}` : name))
  // Redis never denies these to a user that signs in and out. A subscription is tried apart from the commands.
  const others = ['auth', 'hello', 'quit', 'subscribe', 'unsubscribe']
  const commands = rights.flatMap((right) => (right.startsWith('+') ? right.slice(1) : []))
  t.strictSame([...new Set([...tried, ...others])].sort(), commands.sort())
})

t.test('the check names each mistake of the table, and its remedy', async (t) => {
  const readRedis = (name: string) => readFileSync(join(folder, 'redis', name), 'utf8')
  const originals = ['redis.conf', 'users.acl', 'tls/redis.crt', 'tls/redis.key'].map(
    (name) => [name, readRedis(name)] as const,
  )
  const restart = () => run('systemctl restart redis-server')
  /** Changes a file of Redis and restarts it. */
  const changed = (name: string, from: string | RegExp, to: string) => async () => {
    const text = readRedis(name)
    const other = text.replace(from, to)
    if (other === text) throw new Error(`${name} lacks ${from}`)
    writeFileSync(join(folder, 'redis', name), other)
    await restart()
  }
  const sign = (days: string, address: string) => async () => {
    const lines = certificates.split('\n')
    const [request = '', signed = ''] = lines.slice(2, 4)
    await run(`cd /etc/redis/tls\n${request.replace('10.0.0.20', address)}\n${signed.replace('-days 365', days)}`)
    await restart()
  }
  const setRedis = (change: (redis: RedisSettings) => void) => () => configure(change)
  const otherCa = join(folder, 'other')
  mkdirSync(otherCa)
  await run(`cd ${otherCa}; ${certificates.split('\n')[1]}`)
  writeFileSync(join(otherCa, 'password'), 'of-another-redis\n')

  const url = `redis://127.0.0.1:${port}`
  /** One or more for each row of the table, in its order. */
  const mistakes: readonly (readonly (() => unknown)[])[] = [
    [
      setRedis((redis) => Object.assign(redis, { tls: { ca: join(otherCa, 'ca.crt') } })),
      setRedis((redis) => Reflect.deleteProperty(redis, 'tls')),
    ],
    [sign('-days 365', '10.0.0.21')],
    [sign('-days -1', '10.0.0.20')],
    [changed('redis.conf', 'tls-auth-clients no', 'tls-auth-clients yes')],
    [changed('redis.conf', /^port 0\ntls-port \d+$/m, `port ${port}\ntls-port ${plainPort}`)],
    [setRedis((redis) => Object.assign(redis, { url, tls: {} }))],
    [
      setRedis((redis) => Object.assign(redis, { username: 'egde' })),
      setRedis((redis) => Object.assign(redis, { passwordFile: join(otherCa, 'password') })),
    ],
    [
      changed('users.acl', / \+hset| \+zadd/g, ''),
      changed('users.acl', '~edge:*', '~other:*'),
      changed('users.acl', '&edge:*', '&other:*'),
    ],
    [changed('redis.conf', 'volatile-lru', 'allkeys-lru')],
    [() => run(stop), setRedis((redis) => Object.assign(redis, { url: `rediss://127.0.0.1:${plainPort}` }))],
  ]
  t.equal(mistakes.length, causes.length)
  for (const [row, { mistake, cause }] of causes.entries()) {
    for (const make of mistakes[row] ?? []) {
      await make()
      const loaded = await loadConfig({ file, env: {} })
      if (!loaded.ok) throw new Error(loaded.faults.join('\n'))
      const found = await checkRedis(loaded.config.cache.redis)
      t.match(found, { ok: false }, mistake)
      const reason = found?.ok === false ? found.reason : ''
      t.match(reason, cause, mistake)
      t.match(reason, /; .{10,}/, `${mistake}: a remedy`)
      t.comment(reason)
      for (const [name, text] of originals) writeFileSync(join(folder, 'redis', name), text)
      await configure()
    }
    await restart()
  }
  const denied = async (...change: Parameters<typeof changed>) => {
    await changed(...change)()
    const loaded = await loadConfig({ file, env: {} })
    const found = loaded.ok ? await checkRedis(loaded.config.cache.redis) : undefined
    writeFileSync(join(folder, 'redis/users.acl'), originals[1]?.[1] ?? '')
    return found?.ok === false ? found.reason : 'ok'
  }
  t.match(await denied('users.acl', / \+hset| \+zadd/g, ''), 'hset, zadd; add +hset +zadd to the line')
  t.match(await denied('users.acl', '~edge:*', '~other:*'), /keys that begin with "edge:"; add ~edge:\* to/)
  t.match(await denied('users.acl', '&edge:*', '&other:*'), /channels that begin with "edge:"; add &edge:\* to/)
  t.match(await denied('users.acl', ' +subscribe', ''), /commands subscribe; add \+subscribe to/)
  await restart()
  t.match(await run(check), /^redis: ok$/m, 'without a mistake')
})
