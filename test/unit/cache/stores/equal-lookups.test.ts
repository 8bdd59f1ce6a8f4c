import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import { eventually } from '../../../support/eventually.ts'
import { startRedis } from '../../../support/redis.ts'
import { recordCommands } from '../../../support/redis-monitor.ts'
import { fill, TAGS } from './contract.ts'
import { replica } from './replicas.ts'

t.test('equal lookups at the same time cost one round trip; a later one reads Redis again', async (t) => {
  const redis = await startRedis()
  t.teardown(() => redis.close())
  const { store: other } = await replica(t, redis)
  const { store } = await replica(t, redis, { localBytes: () => 0 })
  await fill(other, 'text')
  const lookUp = () => store.lookup('k', TAGS)
  await eventually(async () => (await lookUp()).kind === 'hit')
  const commands = await recordCommands(redis.port, async () => {
    const first = Array.from({ length: 1000 }, lookUp)
    // The first lookup is sent at the end of this turn. The next one must not share it: it may be older than a write.
    await nextTurn()
    const second = Array.from({ length: 1000 }, lookUp)
    const kinds = (await Promise.all([...first, ...second])).map(({ kind }) => kind)
    t.strictSame([...new Set(kinds)], ['hit'])
  })
  const read = commands.flatMap(({ words: [name, key] }) => (name === 'get' && key?.startsWith('edge:c:') ? key : []))
  t.strictSame(read, ['edge:c:2:k', 'edge:c:2:k'])
  await other.purge({ keys: ['k'] })
  t.equal((await store.lookup('k', TAGS)).kind, 'miss', 'a lookup after a purge')
})
