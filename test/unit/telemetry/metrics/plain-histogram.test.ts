import { Histogram, type Metric, Registry } from '@platformatic/prom-client'
import fc from 'fast-check'
import t from 'tap'
import { PlainHistogram } from '../../../../src/telemetry/metrics/plain-histogram.ts'

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
      const other = new PlainHistogram(name, help, buckets)
      plain.registerMetric(other as unknown as Metric)
      for (const route of routes) one.zero({ route })
      const cells = new Map(routes.map((route) => [route, other.create({ route })]))
      for (const { route, value } of observed) {
        one.labels({ route }).observe(value)
        cells.get(route)?.add(value)
      }
      t.equal(await plain.metrics(), await library.metrics())
      t.strictSame(sorted(await plain.getMetricsAsJSON()), sorted(await library.getMetricsAsJSON()))
    }),
    { numRuns: 50 },
  )
})

/** The order of labels has no meaning, and there are no exemplars. */
function sorted(families: readonly object[]): unknown {
  return JSON.parse(JSON.stringify(families), (_key, found) =>
    found !== null && typeof found === 'object' && !Array.isArray(found)
      ? Object.fromEntries(Object.entries({ ...found, exemplar: null }).sort())
      : found,
  )
}
