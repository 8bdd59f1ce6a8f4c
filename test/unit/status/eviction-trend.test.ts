/** When evictions count as steady. */
import t from 'tap'
import { EvictionTrend } from '../../../src/status/eviction-trend.ts'

/** Samples of a store that adds and evicts in each interval of 15 s. Returns whether it evicted steadily, by sample. */
function sampled() {
  const trend = new EvictionTrend()
  let [evicted, added] = [1000, 5000]
  trend.sample({ evicted, added })
  return {
    trend,
    add: (samples: number, each: { readonly evicted: number; readonly added: number }) => {
      const steady: boolean[] = []
      for (let at = 0; at < samples; at += 1) {
        evicted += each.evicted
        added += each.added
        trend.sample({ evicted, added })
        steady.push(trend.isSteady)
      }
      return steady
    },
  }
}

t.test('evictions in each of five minutes, for half of what was added', async (t) => {
  const { add } = sampled()
  const before = add(19, { evicted: 5, added: 10 })
  t.notOk(before.includes(true), 'not before five minutes have passed')
  t.strictSame(add(1, { evicted: 5, added: 10 }), [true])
})

t.test('a share below a half, a few evictions and a single burst are usual', async (t) => {
  t.notOk(sampled().add(40, { evicted: 4, added: 10 }).includes(true), 'the least used half of the responses stays')
  t.notOk(sampled().add(40, { evicted: 4, added: 4 }).includes(true), '80 in five minutes')
  const { add } = sampled()
  t.notOk(add(20, { evicted: 0, added: 1 }).includes(true))
  t.notOk(add(1, { evicted: 5000, added: 5000 }).includes(true), 'as after a smaller limit')
  t.notOk(add(40, { evicted: 0, added: 1 }).includes(true))
})

t.test('they are over when both are less than half of that, and not before', async (t) => {
  const { add } = sampled()
  add(20, { evicted: 10, added: 10 })
  t.notOk(add(20, { evicted: 4, added: 10 }).includes(false), 'a share of 40 % neither begins nor ends it')
  t.strictSame(add(20, { evicted: 2, added: 10 }).at(-1), false, 'a share of 20 % ends it')
})

t.test('a store that was started again is observed from its start', async (t) => {
  const { trend, add } = sampled()
  t.equal(add(20, { evicted: 10, added: 10 }).at(-1), true)
  trend.sample({ evicted: 0, added: 0 })
  t.equal(trend.isSteady, false)
})
