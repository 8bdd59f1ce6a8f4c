import t from 'tap'
import { startRedis } from '../../../../test/support/redis.ts'
import { fill } from '../../../../test/unit/cache/stores/contract.ts'
import { replica } from '../../../../test/unit/cache/stores/replicas.ts'
import { createEntryList } from '../../server/cache-entries.ts'

const redis = await startRedis()
t.teardown(() => redis.close())

t.test('the console of every replica shows no entry after its purge', async (t) => {
  const [{ store: one }, { store: other }] = [await replica(t, redis), await replica(t, redis)]
  for (const key of ['a', 'b', 'c']) await fill(one, key, { key, tags: ['cache', 'cache:agents'] })
  await fill(one, 'r', { key: 'r', group: 'rules', tags: ['cache', 'cache:rules'] })
  const consoles = [createEntryList(one), createEntryList(other)]
  const shown = async () =>
    Promise.all(consoles.map(async (each) => (await each.page({})).items.map(({ key }) => key).sort()))
  const by = (...keys: string[]) => [keys, keys]

  t.strictSame(await shown(), by('a', 'b', 'c', 'r'))
  await one.purge({ keys: ['a'] })
  t.strictSame(await shown(), by('b', 'c', 'r'), 'one key')
  await other.purge({ keys: ['b'] })
  t.strictSame(await shown(), by('c', 'r'), 'one key, by the other replica')
  await other.purge({ group: 'agents' })
  t.strictSame(await shown(), by('r'), 'a group')
  await one.purge({})
  t.strictSame(await shown(), by(), 'everything')
})
