import t from 'tap'
import { describeEmptyCache } from '../src/views/empty-cache.ts'

const now = (cache: object, cacheable: number) => ({
  cache: { enabled: true, shared: true, unreachable: false, faults: [], ...cache },
  edge: { uptime: 90_400 },
  totals: { cacheable },
})

t.test('an empty cache view gives the reason', async (t) => {
  const text = (of: Partial<Parameters<typeof describeEmptyCache>[0]>) =>
    describeEmptyCache({ now: now({}, 5), all: 0, hasFilter: false, ...of })
  t.match(text({ now: now({ enabled: false }, 5) }), /^The cache is off/)
  t.match(text({ now: now({ unreachable: true }, 5) }), /^Redis is unreachable/)
  t.match(text({ now: now({}, 0) }), /No client has sent a cacheable request .* started 1 min 30 s ago/)
  t.match(text({}), /^Nothing is stored now\./)
  t.match(text({ all: 1200, hasFilter: true }), 'No entry matches the search. 1,200 entries are stored.')
  t.match(text({ hasFilter: true }), /^Nothing is stored now\./, 'nothing is stored, so the search is not the reason')
  t.match(text({ now: undefined }), /^Nothing is stored now\./)
})
