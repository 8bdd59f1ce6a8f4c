/** What the cache reports reaches operators: each kind of its events counts in a metric. The compiler demands one of each kind. */
import t from 'tap'
import type { CacheEvent } from '../../../../src/core/events.ts'
import { eventSeries } from '../../../../src/telemetry/metrics/table.ts'

const kinds: Readonly<Record<CacheEvent['kind'], true>> = {
  fetch: true,
  collapsed: true,
  invalidated: true,
  snapshotBuild: true,
  snapshotQuery: true,
  verified: true,
  trial: true,
}

for (const kind of Object.keys(kinds)) {
  t.test(`${kind} counts in a metric`, async (t) => {
    const names = eventSeries.filter(({ on }) => on === `cache.${kind}`).map(({ name }) => name)
    t.not(names.length, 0, `a row of src/telemetry/metrics/table.ts is missing: on('cache.${kind}', { … })`)
  })
}
