import t, { type Test } from 'tap'
import { askRedis } from '../../../src/cli/check.ts'
import { loadConfig } from '../../../src/config/index.ts'
import { startRedis } from '../../support/redis.ts'

/** Settings with this Redis, read as a start reads them. */
async function verdictOf(t: Test, env: Readonly<Record<string, string>>) {
  const file = `${t.testdir({ users: '', 'edge.yaml': settings })}/edge.yaml`
  const loaded = await loadConfig({ file, env })
  if (!loaded.ok) throw new Error(loaded.faults.join('\n'))
  return askRedis(loaded.config.cache.redis)
}

const settings = `
cluster: { nodes: [{ name: m, type: master, url: 'http://127.0.0.1:1' }], credentials: { username: u, password: p } }
access: { users: users }
`

t.test('check says whether Redis can be used, and why not', async (t) => {
  const redis = await startRedis()
  t.teardown(() => redis.close())
  // Connections from before stay signed in.
  const client = redis.client()
  await client.config('SET', 'requirepass', 'the-right-one')
  const url = { EDGE_CACHE_REDIS_URL: redis.url }
  const right = { ...url, EDGE_CACHE_REDIS_PASSWORD: 'the-right-one' }

  t.equal(await verdictOf(t, {}), undefined, 'none is named')
  t.strictSame(await verdictOf(t, right), { ok: true })
  t.match(await verdictOf(t, url), { ok: false, why: /NOAUTH/ })
  const wrong = await verdictOf(t, { ...url, EDGE_CACHE_REDIS_PASSWORD: 'the-wrong-one' })
  t.match(wrong, { ok: false, why: /WRONGPASS.*look at cache\.redis/ })
  t.notMatch(JSON.stringify(wrong), /the-(?:right|wrong)-one/)

  t.equal(await client.dbsize(), 0, 'looking leaves nothing behind, no replica either')
  await client.config('SET', 'maxmemory-policy', 'allkeys-lru')
  t.match(await verdictOf(t, right), { ok: false, why: /allkeys-lru.*set volatile-lru/ })
})
