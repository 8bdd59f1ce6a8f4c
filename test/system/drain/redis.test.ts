import t from 'tap'
import { eventually } from '../../support/eventually.ts'
import { drain, putBack, startReplicas, stateOf } from './replicas.ts'

const KEY = 'edge:{a}:drains'

t.test('drained nodes outlive restarts, the loss of Redis and foreign values', async (t) => {
  const { simulator, redis, here, there, start } = await startReplicas(t)
  const calls = () => simulator.seen.filter(({ node }) => node === 'worker-1').length
  await drain(here, 'worker-1')
  await eventually(async () => (await stateOf(there, 'worker-1')) === 'drained')

  await t.test('a replica that starts knows them before its first call', async (t) => {
    const before = calls()
    const third = await start()
    t.equal(await stateOf(third, 'worker-1'), 'drained')
    t.equal(calls(), before)
  })

  await t.test('foreign values in Redis are replaced by the known state', async (t) => {
    const client = redis.client()
    const foreign = [
      'garbage',
      '{"revision":9e99,"drains":[]}',
      '{"revision":8000000000000000,"drains":[{"node":"master"}]}',
      'x'.repeat(100_000),
      Buffer.from([0xff, 0x41]),
      '{"revision":1,"drains":[]}',
    ]
    for (const value of foreign) {
      await client.set(KEY, value)
      await eventually(async () => /worker-1/.test((await client.get(KEY)) ?? ''))
    }
    await client.multi().del(KEY).lpush(KEY, 'another type').exec()
    await eventually(async () => /worker-1/.test(await client.get(KEY).then(String, () => '')))
    for (const edge of [here, there]) t.equal(await stateOf(edge, 'worker-1'), 'drained')
  })

  await t.test('while Redis is down they stay drained, and a change is refused', async (t) => {
    await redis.kill()
    t.match(await putBack(here, 'worker-1'), { status: 503, body: { error: 941 } })
    t.match(await drain(there, 'worker-2'), { status: 503, body: { error: 941 } })
    for (const edge of [here, there]) t.equal(await stateOf(edge, 'worker-1'), 'drained')
  })

  await t.test('a Redis without data gets them back from the replicas', async (t) => {
    await redis.restart()
    await eventually(async () => (await drain(there, 'worker-1')).status === 200)
    const fourth = await start()
    t.equal(await stateOf(fourth, 'worker-1'), 'drained')
    // On busy cores, the first contact of a replica with Redis may take longer than a command may.
    await eventually(async () => (await putBack(fourth, 'worker-1')).status === 200)
    await eventually(async () => (await stateOf(here, 'worker-1')) === 'up')
  })
})
