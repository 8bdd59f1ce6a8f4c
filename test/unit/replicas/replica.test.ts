import t, { type Test } from 'tap'
import { RedisReplica } from '../../../src/replicas/replica.ts'
import { eventually } from '../../support/eventually.ts'
import { startRedis } from '../../support/redis.ts'

const redis = await startRedis()
t.teardown(() => redis.close())

function replicaOf(t: Test): RedisReplica {
  const times = { lease: 600, heartbeatInterval: 50, commandTimeout: 1000 }
  const replica = new RedisReplica({ redis: { url: redis.url }, times })
  t.teardown(() => replica.close())
  return replica
}

t.test('replicas count one another, and no longer one that was closed', async (t) => {
  const [one, other] = [replicaOf(t), replicaOf(t)]
  await Promise.all([one.start(), other.start()])
  await eventually(() => one.heartbeat.replicas === 2 && other.heartbeat.replicas === 2)
  await other.close()
  await eventually(() => one.heartbeat.replicas === 1)
})

t.test('replicas exchange their descriptions', async (t) => {
  const [one, other] = [replicaOf(t), replicaOf(t)]
  await Promise.all([one.start(), other.start()])
  await one.exchangeDescriptions('first of one')
  await one.exchangeDescriptions('second of one')
  const seen = await other.exchangeDescriptions('of the other')
  t.match(seen, [{ text: 'second of one', ago: Number }])
  t.equal(seen?.length, 1)
  t.match(await one.exchangeDescriptions('third of one'), [{ text: 'of the other' }])
})

t.test('a replica that was closed has no description', async (t) => {
  const [one, other] = [replicaOf(t), replicaOf(t)]
  await Promise.all([one.start(), other.start()])
  await other.exchangeDescriptions('of the other')
  t.equal((await one.exchangeDescriptions('of one'))?.length, 1)
  await other.close()
  t.strictSame(await one.exchangeDescriptions('of one'), [])
})

t.test('a description is undefined without Redis', async (t) => {
  t.equal(await replicaOf(t).exchangeDescriptions('text'), undefined)
})

t.test('a subscription after the start is an error, since messages could be missed', async (t) => {
  const replica = replicaOf(t)
  await replica.start()
  t.throws(() => replica.subscribe('edge:{e}:raised', () => {}), /after the start/)
})
