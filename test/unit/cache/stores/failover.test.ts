import t from 'tap'
import { eventually } from '../../../support/eventually.ts'
import { startSentinels } from '../../../support/redis.ts'
import { epochsOf, fill, served } from './contract.ts'
import { startWorld } from './links.ts'
import { replica } from './replicas.ts'

t.test('after a fail-over by the sentinels the cache is empty, never wrong', async (t) => {
  const group = await startSentinels()
  t.teardown(() => group.close())
  const redis = { sentinels: group.sentinels, name: group.name }
  const [one, other] = [await replica(t, redis), await replica(t, redis)]
  await fill(one.store, 'before')
  t.equal(await served(other.store), 'before')
  const before = await epochsOf(one.store)
  // The primary does not replicate its data from now on.
  group.replica.pause()
  await (await one.store.fence(['agent:001'])).lift([])
  await group.primary.kill()
  group.replica.resume()
  await group.failedOver()
  for (const { store } of [one, other]) {
    await eventually(async () => {
      const text = await served(store)
      if (text === 'before') throw new Error('served a value that a write had changed')
      return text === 'miss'
    }, 20_000)
  }
  t.not((await epochsOf(one.store)).generation, before.generation)
  await fill(one.store, 'after')
  t.equal(await served(other.store), 'after')
})

t.test('under writes, a fail-over by the sentinels gives no stale read, and is said in words', async (t) => {
  const group = await startSentinels()
  t.teardown(() => group.close())
  const world = await startWorld(t, { sentinels: group.sentinels, name: group.name })
  const { writer, reader, readMeanwhile, stale, recovered } = world
  await readMeanwhile(async () => {
    t.equal(await writer.write(), 'done')
    await reader.read()
    const [failedOver] = await Promise.all([group.failedOver(), writer.write(() => group.primary.kill())])
    t.equal(failedOver, undefined)
    await eventually(async () => (await writer.write()) === 'done')
    await recovered()
  })
  t.strictSame(stale, [])
  for (const { reasons } of [writer, reader]) t.match(reasons.join(), /Redis cannot be reached; check that it runs/)
})
