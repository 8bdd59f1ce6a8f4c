import { readFileSync, writeFileSync } from 'node:fs'
import t from 'tap'
import { parse } from 'yaml'
import { LoginAttempts } from '../../../src/access/login-attempts.ts'
import { createSharedAccess } from '../../../src/app/shared-access.ts'
import { loadConfig } from '../../../src/config/index.ts'
import { schema } from '../../../src/config/schema.ts'
import { listLeaves } from '../../../src/config/tree.ts'
import { catalogue } from '../../../src/contracts/index.ts'
import { RedisReplica } from '../../../src/replicas/replica.ts'
import { startRedis } from '../../support/redis.ts'
import { ACCESS_COMMANDS, EARLIER_COMMANDS, STORE_COMMANDS } from '../../support/redis-commands.ts'
import { openRedisStore } from '../../support/redis-store.ts'
import { storedResponse } from '../../support/stored-response.ts'

const document = readFileSync('docs/cache.md', 'utf8')
const [, rights = ''] = /^user edge on \S+ (.*)$/m.exec(readFileSync('docs/redis.md', 'utf8')) ?? []

t.test('every cache setting that docs/cache.md names exists', async (t) => {
  const named = [...document.matchAll(/`cache\.([A-Za-z.]+)`/g)].map(([, name = '']) => `cache.${name}`)
  const known = listLeaves(schema).map(({ path }) => path.join('.'))
  t.ok(named.length > 10)
  for (const name of named) {
    t.ok(
      known.some((each) => each === name || each.startsWith(`${name}.`)),
      `${name} is a setting`,
    )
  }
})

t.test('docs/cache-endpoints.md names every endpoint of the cache and each of its parameters', async (t) => {
  const page = readFileSync('docs/cache-endpoints.md', 'utf8')
  for (const { path, method, query } of catalogue.filter((endpoint) => endpoint.path.startsWith('/cache'))) {
    t.ok(page.includes(`\`${method} ${path}`), `${method} ${path}`)
    for (const name of Object.keys(query)) t.match(page, new RegExp(`[\`?]${name}[\`=]`), name)
  }
})

t.test('the ACL user of docs/redis.md is allowed exactly the commands that the edge uses', async (t) => {
  const used = new Set([...STORE_COMMANDS, ...ACCESS_COMMANDS, ...EARLIER_COMMANDS])
  // The whole of CLUSTER could take a cluster apart.
  used.delete('cluster')
  const written = [...rights.matchAll(/\+(\S+)/g)].map(([, name]) => name)
  t.strictSame(written, [...used, 'cluster|info', 'cluster|slots'].sort())
  t.match(rights, /~edge:\* .* &edge:\* -@all /)
})

t.test('as this ACL user, store and access work, and Redis refuses no command', async (t) => {
  const redis = await startRedis()
  t.teardown(() => redis.close())
  const admin = redis.client()
  await admin.call('ACL', 'SETUSER', 'edge', 'on', '>word', ...rights.split(' '))
  const place = { url: redis.url, username: 'edge', password: 'word' }

  const store = await openRedisStore({ redis: place, localBytes: () => 0, times: { commandTimeout: 500 } })
  const tags = ['cache', 'cache:agents', 'agent:001']
  const look = await store.lookup('key', tags)
  if (look.kind === 'unavailable') return t.fail('unavailable')
  const stored = storedResponse('{"error":0,"data":{}}', { ttl: 60_000, fetchTime: 5 })
  const listed = { url: '/agents/001', group: 'agents', endpoint: '/agents/:agent_id', scope: 'everyone', tags }
  const claim = await store.acquireFetchLock('key', look.epochs, 1000)
  await store.store({ key: 'key', tags, epochs: look.epochs, stored, info: listed })
  if (claim.held) await claim.release()
  t.match(await store.lookup('key', tags), { kind: 'hit' })
  t.equal((await store.list()).length, 1)
  await store.purge({ keys: ['key'], soft: true })
  await store.purge({ keys: ['key'] })
  const fence = await store.fence(['agent:001'])
  t.equal(fence.state, 'active')
  await fence.lift(['agent:002'])
  await store.purge({ group: 'agents' })
  await store.purge({})
  await store.close()

  const replica = new RedisReplica({ redis: place, times: { commandTimeout: 500 } })
  const shared = createSharedAccess({ replica, log: () => {} })
  await shared.revocations.start()
  t.equal(replica.contact.lostAt, undefined)
  const until = Date.now() + 60_000
  await shared.revocations.revokeUpTo('issuer', 'alice', Date.now(), until)
  const attempts = new LoginAttempts({ failedLogins: () => 1, counters: shared.counters })
  t.match(await attempts.count('10.0.0.1', 'bob'), { allowed: true })
  t.match(await attempts.count('10.0.0.1', 'bob'), { allowed: false })
  await attempts.succeed('10.0.0.1', 'bob')
  await attempts.cancel('10.0.0.1', 'bob')
  await replica.close()

  const refused = (await admin.call('ACL', 'LOG')) as unknown[]
  t.strictSame(refused, [])
})

t.test('the configurations in docs/cache.md are valid', async (t) => {
  const folder = t.testdir({ users: '', 'redis-ca.crt': readFileSync('test/support/certificates/first.crt') })
  const rest = `
cluster: { nodes: [{ name: m, type: master, url: 'http://127.0.0.1:1' }], credentials: { username: a, password: bcdefgh } }
access: { users: users }
`
  const shown = [...document.matchAll(/```yaml\n(.*?)```/gs)].map(([, text = '']) => text)
  t.equal(shown.length, 3)
  for (const text of shown) {
    writeFileSync(`${folder}/edge.yaml`, text + rest)
    const loaded = await loadConfig({ file: `${folder}/edge.yaml`, env: {} })
    const faults = loaded.ok
      ? []
      : loaded.faults.filter((fault) => !fault.includes('/run/secrets/redis cannot be read'))
    t.strictSame(faults, [], text)
  }
})

t.test('Redis accepts config/redis.conf, which evicts neither fences nor epochs', async (t) => {
  const lines = readFileSync('config/redis.conf', 'utf8').split('\n')
  const settings = lines.filter((line) => /^[a-z]/.test(line) && !line.startsWith('aclfile'))
  const args = settings.flatMap((line) => {
    const [name = '', value = ''] = line.split(/ +/)
    return [`--${name}`, value.replaceAll('"', '')]
  })
  const redis = await startRedis({ args })
  t.teardown(() => redis.close())
  t.strictSame(await redis.client().config('GET', 'maxmemory-policy'), ['maxmemory-policy', 'volatile-lru'])
})

t.test('the replicas of compose.yaml share this Redis', async (t) => {
  const compose = parse(readFileSync('config/compose.yaml', 'utf8'), { merge: true })
  const folder = t.testdir({
    manager: 'of the manager',
    redis: 'of redis',
    cache: 'k'.repeat(44),
    users: '',
    'tls.crt': '',
  })
  const environment = Object.entries(compose.services['edge-1'].environment as Record<string, string>)
  const env = Object.fromEntries(environment.map(([name, value]) => [name, value.replace('/run/secrets', folder)]))
  const file = `${folder}/edge.yaml`
  writeFileSync(
    file,
    `cluster: { nodes: [{ name: m, type: master, url: 'http://127.0.0.1:1' }], credentials: { username: edge, passwordFile: manager } }
access: { users: users }
`,
  )
  const loaded = await loadConfig({ file, env })
  if (!loaded.ok) return t.fail(loaded.faults.join('\n'))
  t.match(loaded.config.cache.redis, { url: 'redis://redis:6379', username: 'edge', password: 'of redis' })
})
