import t from 'tap'
import { startSentinels } from '../../../support/redis.ts'
import { fill, markOf, served } from './contract.ts'
import { eventually, replica } from './replicas.ts'

t.test('a fail-over by the sentinels is a cold cache, not a wrong one', async (t) => {
  const group = await startSentinels()
  t.teardown(() => group.close())
  const redis = { sentinels: group.sentinels, name: group.name }
  const [one, other] = [await replica(t, redis), await replica(t, redis)]
  await fill(one.store, 'before')
  t.equal(await served(other.store), 'before')
  const before = await markOf(one.store)
  // What the primary takes from now on is lost with it.
  group.replica.pause()
  await (await one.store.fence(['agent:001'])).lift([])
  await group.primary.kill()
  group.replica.resume()
  await group.failedOver()
  for (const { store } of [one, other]) {
    await eventually(async () => {
      const text = await served(store)
      if (text === 'before') throw new Error('served what a write had changed')
      return text === 'miss'
    }, 20_000)
  }
  t.not((await markOf(one.store)).generation, before.generation)
  await fill(one.store, 'after')
  t.equal(await served(other.store), 'after')
})
