import { Histogram, type Metric, Registry } from '@platformatic/prom-client'
import fc from 'fast-check'
import t from 'tap'
import { bucketOf } from '../../../../src/core/latency-buckets.ts'
import { ReadHistogram } from '../../../../src/telemetry/metrics/read-histogram.ts'

const name = 'seconds'
const help = 'Duration.'
const buckets = [0.0005, 0.01, 1, 30]
const routes = ['/agents', '/rules']

const value = fc.oneof(fc.constantFrom(0, ...buckets, 31), fc.double({ min: 0, max: 40, noNaN: true }))

t.test('a scrape has the text of the histogram of the library', async (t) => {
  const observations = fc.array(fc.record({ route: fc.constantFrom(...routes), value }), { maxLength: 30 })
  await fc.assert(
    fc.asyncProperty(observations, async (observed) => {
      const [library, plain] = [new Registry(), new Registry()]
      const one = new Histogram({ name, help, buckets, labelNames: ['route'], registers: [library] })
      const countsOf = (route: string, values: readonly number[]) => {
        const counts = new Float64Array(buckets.length + 1)
        for (const value of values) counts[bucketOf(buckets, value)] = (counts[bucketOf(buckets, value)] ?? 0) + 1
        return { labels: { route }, counts, sum: values.reduce((sum, value) => sum + value, 0) }
      }
      const other = new ReadHistogram({ name, help, buckets }, () => [
        ...routes.map((route) => countsOf(route, [])),
        ...observed.map(({ route, value }) => countsOf(route, [value])),
      ])
      plain.registerMetric(other as unknown as Metric)
      for (const route of routes) one.zero({ route })
      for (const { route, value } of observed) one.labels({ route }).observe(value)
      t.equal(await plain.metrics(), await library.metrics())
    }),
    { numRuns: 50 },
  )
})
