/** What the cache reports reaches operators: each kind of its events counts in a metric. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { eventSeries } from '../../../../src/telemetry/metrics/table.ts'

const [, union = ''] = /^export type CacheEvent =\n(.*?)\n\n/ms.exec(readFileSync('src/core/events.ts', 'utf8')) ?? []
const kinds = [...union.matchAll(/readonly kind: '(\w+)'/g)].map(([, kind]) => kind)
t.ok(kinds.includes('fetch') && kinds.includes('trial'), `kinds of CacheEvent: ${kinds.join(', ')}`)

for (const kind of kinds) {
  t.test(`${kind} counts in a metric`, async (t) => {
    const names = eventSeries.filter(({ on }) => on === `cache.${kind}`).map(({ name }) => name)
    t.not(names.length, 0, `a row of src/telemetry/metrics/table.ts is missing: on('cache.${kind}', { … })`)
  })
}
