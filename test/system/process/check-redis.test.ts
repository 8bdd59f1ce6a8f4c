import t, { type Test } from 'tap'
import { checkRedis } from '../../../src/cli/check.ts'
import { loadConfig } from '../../../src/config/index.ts'
import { startRedis } from '../../support/redis.ts'

/** Checks the Redis of a configuration that is loaded as a start loads it. */
async function checkOf(t: Test, env: Readonly<Record<string, string>>) {
  const file = `${t.testdir({ users: '', 'edge.yaml': settings })}/edge.yaml`
  const loaded = await loadConfig({ file, env })
  if (!loaded.ok) throw new Error(loaded.faults.join('\n'))
  return checkRedis(loaded.config.cache.redis)
}

const settings = `
cluster: { nodes: [{ name: m, type: master, url: 'http://127.0.0.1:1' }], credentials: { username: u, password: p } }
access: { users: users }
`

t.test('check reports whether Redis can be used, and why not', async (t) => {
  const redis = await startRedis()
  t.teardown(() => redis.close())
  // A connection that is open before the password is set stays authenticated.
  const client = redis.client()
  await client.config('SET', 'requirepass', 'the-right-one')
  const url = { EDGE_CACHE_REDIS_URL: redis.url }
  const right = { ...url, EDGE_CACHE_REDIS_PASSWORD: 'the-right-one' }

  t.equal(await checkOf(t, {}), undefined, 'no Redis is configured')
  t.strictSame(await checkOf(t, right), { ok: true })
  t.match(await checkOf(t, url), { ok: false, reason: /NOAUTH/ })
  const wrong = await checkOf(t, { ...url, EDGE_CACHE_REDIS_PASSWORD: 'the-wrong-one' })
  t.match(wrong, { ok: false, reason: /correct cache\.redis.*WRONGPASS/ })
  t.notMatch(JSON.stringify(wrong), /the-(?:right|wrong)-one/)

  t.equal(await client.dbsize(), 0, 'the check stores nothing, not even a heartbeat')
  await client.config('SET', 'maxmemory-policy', 'allkeys-lru')
  t.match(await checkOf(t, right), { ok: false, reason: /allkeys-lru.*set volatile-lru/ })
})
