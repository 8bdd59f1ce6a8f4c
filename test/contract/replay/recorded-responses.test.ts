import t from 'tap'
import { check } from './check.ts'
import { differenceOf, differences, isOfCache } from './differences.ts'
import { name, recorded } from './exchanges.ts'
import { startReplay } from './replay.ts'

const exchanges = recorded()
const pending = startReplay(exchanges, { enabled: false })
t.teardown(async () => (await pending).close())

t.test('recorded exchanges pass the edge unchanged except for the listed differences', async (t) => {
  const replay = await pending
  t.ok(exchanges.length > 600)
  // stored-responses.test.ts covers the exchanges of the cache.
  for (const exchange of exchanges.filter((one) => !isOfCache(one) && !differenceOf(one)?.joined)) {
    const outcome = await replay.send(exchange)
    await t.test(name(exchange), async (t) => check(t, exchange, outcome))
  }
})

t.test('every listed difference occurs', async (t) => {
  for (const difference of differences) {
    t.ok(
      exchanges.some((exchange) => differenceOf(exchange) === difference),
      difference.reason,
    )
  }
})
