/** A hit of a response that another replica has stored is as fast as one of this replica: V8 knows where its members are. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { eventually } from '../../../support/eventually.ts'
import { startRedis } from '../../../support/redis.ts'
import { fill, TAGS } from './contract.ts'
import { replica, steady } from './replicas.ts'

setFlagsFromString('--allow-natives-syntax')
/** Whether both objects have one hidden class. */
const haveSameMap: (one: unknown, other: unknown) => boolean = runInNewContext('(a, b) => %HaveSameMap(a, b)')

t.test('all responses that come from Redis have one hidden class', async (t) => {
  const redis = await startRedis()
  t.teardown(() => redis.close())
  const { store: other } = await replica(t, redis, { times: steady })
  const { store } = await replica(t, redis, { times: steady })
  const keys = Array.from({ length: 50 }, (_, at) => `k${at}`)
  for (const key of keys) await fill(other, `text of ${key}`, { key })
  const found = await Promise.all(
    keys.map(async (key) => {
      await eventually(async () => (await store.lookup(key, TAGS)).kind === 'hit')
      const lookup = await store.lookup(key, TAGS)
      return lookup.kind === 'hit' && lookup.isLocal ? lookup.response : undefined
    }),
  )
  const [first] = found
  t.ok(first !== undefined && found.every((response) => response !== undefined), 'all are local hits')
  t.strictSame(
    keys.filter((_, at) => !haveSameMap(first, found[at])),
    [],
  )
})
