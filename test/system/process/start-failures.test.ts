/** Every reason for which a start fails, without Redis, with it and with one that cannot be reached: the start ends, and closes what it had opened. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { stringify } from 'yaml'
import { freePort } from '../../../packages/simulator/src/free-port.ts'
import { checkConnections, checkStart } from '../../../src/cli/check.ts'
import { loadConfig } from '../../../src/config/index.ts'
import { run } from '../../../src/server.ts'
import { merge, type Settings } from '../../support/edge.ts'
import { eventually } from '../../support/eventually.ts'
import { startRedis } from '../../support/redis.ts'
import { result } from './program.ts'

const BOUND_MS = 20_000

const taken = createServer()
await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
t.teardown(() => taken.close())
const { port } = taken.address() as { port: number }
const redis = await startRedis()
t.teardown(() => redis.close())

const pem = (name: string) => readFileSync(new URL(`../../support/certificates/${name}`, import.meta.url))
const folder = t.testdir({ users: '', 'broken-users': 'no colon\n', text: 'text\n', subfolder: {} })
for (const name of ['first.crt', 'first.key', 'second.key'])
  writeFileSync(join(folder, name), pem(name), { mode: 0o600 })
mkdirSync(join(folder, 'no-keys'))
mkdirSync(join(folder, 'broken-keys'))
writeFileSync(join(folder, 'broken-keys', 'a.pem'), 'no key', { mode: 0o600 })

/** `isOnlyStart`: found when the edge opens ports and files, which `check` does not. */
interface Row {
  readonly settings: Settings
  readonly sentence: RegExp
  readonly isOnlyStart?: true
}

const mismatch = { cert: 'first.crt', key: 'second.key' }
const rows: Readonly<Record<string, Row>> = {
  'key of another certificate, clients': {
    settings: { listen: { tls: mismatch } },
    sentence: /second\.key cannot be used: .*; name/,
  },
  'key of another certificate, operators': {
    settings: { operations: { tls: mismatch } },
    sentence: /second\.key cannot be used: .*; name/,
  },
  'no certificate': { settings: { listen: { tls: { cert: 'text', key: 'first.key' } } }, sentence: /listen\.tls/ },
  'no certificate file': { settings: { listen: { tls: { cert: 'none', key: 'first.key' } } }, sentence: /none/ },
  'no key': { settings: { listen: { tls: { cert: 'first.crt', key: 'text' } } }, sentence: /listen\.tls/ },
  'folder as certificate': {
    settings: { listen: { tls: { cert: 'subfolder', key: 'first.key' } } },
    sentence: /subfolder/,
  },
  'no CA of nodes': { settings: { cluster: { tls: { ca: 'text' } } }, sentence: /cluster\.tls/ },
  'no CA file of nodes': { settings: { cluster: { tls: { ca: 'none' } } }, sentence: /none/ },
  'broken users file': { settings: { access: { users: 'broken-users' } }, sentence: /broken-users: line 1: no colon/ },
  'no users file': { settings: { access: { users: 'none' } }, sentence: /none/ },
  'folder as users file': { settings: { access: { users: 'subfolder' } }, sentence: /access\.users: \S+subfolder/ },
  'broken key of tokens': { settings: { access: { tokens: { keys: 'broken-keys' } } }, sentence: /a\.pem/ },
  'no key of tokens': { settings: { access: { tokens: { keys: 'no-keys' } } }, sentence: /no-keys/ },
  'file as keys of tokens': { settings: { access: { tokens: { keys: 'text' } } }, sentence: /text/ },
  'unknown permission': { settings: { access: { customRoles: { own: ['agnets:read'] } } }, sentence: /agnets:read/ },
  'unknown endpoint': { settings: { cache: { endpoints: { 'GET /none': '1m' } } }, sentence: /cache\.endpoints/ },
  'no encryption key': { settings: { cache: { encryptionKeyFile: 'none' } }, sentence: /none/ },
  'folder as encryption key': { settings: { cache: { encryptionKeyFile: 'subfolder' } }, sentence: /subfolder/ },
  'folder as header file': {
    settings: { traces: { endpoint: 'http://127.0.0.1:4318/v1/traces', headersFile: 'subfolder' } },
    sentence: /subfolder/,
  },
  'no folder for the audit': {
    settings: { audit: { file: 'none/audit' } },
    sentence: /none\/audit/,
    isOnlyStart: true,
  },
  'folder as audit': { settings: { audit: { file: 'subfolder' } }, sentence: /subfolder/, isOnlyStart: true },
  'port in use, clients': { settings: { listen: { port } }, sentence: /listen\.port: .* in use/, isOnlyStart: true },
  'port in use, second contract': {
    settings: { listen: { secondPort: port }, cluster: { layout: 'v4' } },
    sentence: /secondPort: .* in use/,
    isOnlyStart: true,
  },
  'port in use, operators': {
    settings: { operations: { port } },
    sentence: /operations\.port: .* in use/,
    isOnlyStart: true,
  },
  'address of another machine': {
    settings: { listen: { host: '192.0.2.1', tls: 'off' } },
    sentence: /listen\.host: this machine has no address 192\.0\.2\.1/,
    isOnlyStart: true,
  },
}

const basic = {
  listen: { host: '127.0.0.1', port: 0 },
  operations: { host: '127.0.0.1', port: 0 },
  cluster: {
    nodes: [{ name: 'n1', type: 'master', url: `http://127.0.0.1:${await freePort()}` }],
    credentials: { username: 'edge', password: 'only-for-tests' },
  },
  access: { users: 'users' },
  log: { level: 'error' },
}
const file = join(folder, 'edge.yaml')

const redisStates: Readonly<Record<string, Settings>> = {
  'without Redis': {},
  'with Redis': { redis: { url: redis.url } },
  'with a Redis that cannot be reached': { redis: { url: `redis://127.0.0.1:${await freePort()}` } },
}

async function load(settings: Settings, cache: Settings) {
  const keys = cache.redis === undefined ? {} : { access: { tokens: { keys: 'keys' } } }
  writeFileSync(file, stringify(merge(merge(merge(basic, keys), { cache }), settings)))
  return loadConfig({ file, env: {} })
}

/** Sockets and ports that keep this process alive. */
const open = () => process.getActiveResourcesInfo().filter((name) => /TCP|TLS|Pipe|Timeout/.test(name)).length

/** Runs `work` and returns what it writes to standard error. */
async function capture(work: () => Promise<unknown>): Promise<{ readonly value: unknown; readonly text: string }> {
  const { write } = process.stderr
  let text = ''
  process.stderr.write = (chunk: string | Uint8Array) => {
    text += chunk
    return true
  }
  try {
    return { value: await work(), text }
  } finally {
    process.stderr.write = write
  }
}

mkdirSync(join(folder, 'keys'), { mode: 0o700 })
const { createKeyFile } = await import('../../../src/access/signing-keys.ts')
createKeyFile(join(folder, 'keys'))
process.setMaxListeners(0)

for (const [state, cache] of Object.entries(redisStates)) {
  for (const [name, { settings, sentence, isOnlyStart }] of Object.entries(rows)) {
    t.test(`${name}, ${state}`, async (t) => {
      const loaded = await load(settings, cache)
      if (!loaded.ok) return t.match(loaded.faults.join(' '), sentence, 'found when the configuration is read')
      const before = open()
      const startedAt = performance.now()
      const { value, text } = await capture(() => run(loaded.config))
      t.equal(value, 1, 'exit code')
      t.match(text, /^manager-edge cannot start: [^\n]+\n$/, 'one sentence')
      t.match(text, sentence)
      if (isOnlyStart) await checkStart(loaded.config)
      else await t.rejects(checkStart(loaded.config), { message: sentence }, 'check')
      t.ok(performance.now() - startedAt < BOUND_MS, 'it ends')
      await eventually(() => open() <= before).catch(() =>
        t.fail(`open: ${process.getActiveResourcesInfo().join(' ')}`),
      )
      t.end()
    })
  }
}

t.test('a start that has failed is no replica any more', async (t) => {
  t.equal(await redis.client().hget('edge:{e}', 'r'), '')
})

t.test('check and doctor do not join the replicas: nothing is stored in Redis, and nothing is published', async (t) => {
  const client = redis.client()
  await client.flushall()
  const watched = redis.client()
  const messages: string[] = []
  watched.on('pmessage', (_pattern: string, channel: string) => messages.push(channel))
  await watched.psubscribe('edge:*')
  const loaded = await load({}, { redis: { url: redis.url } })
  if (!loaded.ok) throw new Error(loaded.faults.join())
  await checkStart(loaded.config)
  await checkConnections(loaded.config, () => undefined)
  t.strictSame(await client.keys('*'), [])
  t.strictSame([...new Set(messages)], ['edge:check'], 'only the rights to publish are tried')
})

t.test('the process ends, of each command that reads what a start reads', async (t) => {
  await load({ listen: { tls: mismatch } }, { redis: { url: redis.url } })
  for (const command of ['start', 'check', 'doctor']) {
    const { code, out, err } = await result(t, [command, '--config', file])
    t.equal(code, 1, command)
    t.match(out + err, /second\.key cannot be used/, command)
  }
})
