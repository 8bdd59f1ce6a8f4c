/** The age of what is served in an outage, however long its freshness lifetime was. */
import t from 'tap'
import { type CacheDetail, OUTAGE, WITHOUT_REDIS } from '../../../src/core/cache.ts'
import { createServedInOutage } from '../../../src/status/served-in-outage.ts'
import { requestEvent } from '../../support/request-event.ts'

const HOUR = 3_600_000

function outage({ isOutage = true } = {}) {
  const served = createServedInOutage(() => isOutage)
  return {
    serve: (detail: CacheDetail | undefined, age: number, ttl: number) =>
      served.request(requestEvent({ age, cacheStatus: { hit: true, ttl: ttl - age, ...(detail && { detail }) } })),
    seconds: () => {
      const ms = served.oldest()
      return ms === undefined ? undefined : Math.floor(ms / 1000)
    },
  }
}

for (const ttl of [0, 1000, 60_000, 2 * HOUR]) {
  t.test(`a lifetime of ${ttl} ms`, async (t) => {
    const { serve, seconds } = outage()
    serve(OUTAGE, HOUR, ttl)
    serve(OUTAGE, 1000, ttl)
    t.equal(seconds(), 3600)
  })
}

t.test('responses that are served because Redis is unreachable count while no node can be called', async (t) => {
  for (const isOutage of [true, false]) {
    const { serve, seconds } = outage({ isOutage })
    serve(WITHOUT_REDIS, HOUR, 1000)
    t.equal(seconds(), isOutage ? 3600 : undefined)
  }
})

t.test('others do not count', async (t) => {
  const { serve, seconds } = outage()
  for (const detail of [undefined, { error: 922 }, 'stale-while-revalidate', 'snapshot'] as const)
    serve(detail, HOUR, 1000)
  t.equal(seconds(), undefined)
})
