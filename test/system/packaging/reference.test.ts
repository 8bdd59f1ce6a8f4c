import { readFileSync } from 'node:fs'
import t from 'tap'
import { commentsOf } from '../../../packages/reference/src/setting-comments.ts'
import { schema } from '../../../src/config/schema.ts'
import { listLeaves } from '../../../src/config/tree.ts'
import { type ErrorDefinition, errorTable } from '../../../src/core/errors.ts'
import { priceOfRead } from '../../../src/core/request.ts'
import { eventSeries } from '../../../src/telemetry/metrics/table.ts'
import { configurationReference } from '../../support/documents/configuration.ts'
import { errorReference } from '../../support/documents/errors.ts'
import { METRICS_DOCUMENT, withNewMetrics } from '../../support/documents/metrics.ts'
import { V3_CLIENTS, v3ClientsReference } from '../../support/documents/v3-clients.ts'
import {
  columnsOf,
  MEASURE,
  PRICES_DOCUMENT,
  pricedReads,
  readsOf,
  wayOf,
  ways,
  withNewReads,
} from '../joined/read-prices.ts'

const configuration = readFileSync('docs/configuration.md', 'utf8')
const errors = readFileSync('docs/errors.md', 'utf8')

t.test('the committed references equal what "npm run docs:reference" writes', async (t) => {
  t.equal(configuration, configurationReference(), 'docs/configuration.md: run "npm run docs:reference"')
  t.equal(errors, errorReference(), 'docs/errors.md: run "npm run docs:reference"')
  t.equal(readFileSync(V3_CLIENTS, 'utf8'), v3ClientsReference(), `${V3_CLIENTS}: run "npm run docs:reference"`)
})

t.test('the configuration reference has one row with a meaning for each setting, and no other row', async (t) => {
  const rows = [...configuration.matchAll(/^\| `([\w.]+)`<br>`EDGE_\w+` \| (.+) \| (.+) \| (.+) \| (.+) \|$/gm)]
  const settings = listLeaves(schema).map(({ path }) => path.join('.'))
  t.strictSame(
    rows.map(([, name]) => name),
    settings,
    'docs/configuration.md: run "npm run docs:reference"',
  )
  for (const { path, schema: leaf } of listLeaves(schema)) {
    if (!['string', 'boolean', 'number'].includes(typeof leaf.default)) continue
    const row = rows.find(([, name]) => name === path.join('.'))
    t.equal(row?.[3], `\`${leaf.default}\``, `default of ${path.join('.')}`)
  }
})

t.test('a comment is found on the line of its key and on the lines that continue it', async (t) => {
  const text = [
    'group:                   # about the group',
    '  one: 1                 # first',
    '                         # and more',
    '  /path/:id: 10s # by path',
    '  none: 2',
    '  list:        # values',
    '    - a:b',
  ].join('\n')
  t.strictSame(Object.fromEntries(commentsOf(text)), {
    group: 'about the group',
    'group.one': 'first and more',
    'group./path/:id': 'by path',
    'group.none': '',
    'group.list': 'values',
  })
})

t.test('a metric without a row gets one with its help text, behind that of the metric before it', async (t) => {
  const written = readFileSync(METRICS_DOCUMENT, 'utf8')
  t.equal(withNewMetrics(written), written)
  const row = /^\| `edge_cache_collapsed_total` .*\n/m
  const rows = withNewMetrics(written.replace(row, '')).split('\n')
  const at = rows.indexOf(
    '| `edge_cache_collapsed_total` | requests that were collapsed: they waited for an identical fetch in flight |',
  )
  const names = eventSeries.map(({ name }) => name)
  const before = names[names.indexOf('edge_cache_collapsed_total') - 1]
  t.match(rows[at - 1], `\`${before}\``)
})

t.test('the error reference has one row for each error', async (t) => {
  for (const [code, { status, message, remedy }] of Object.entries<ErrorDefinition>(errorTable)) {
    t.ok(errors.includes(`| ${code} | ${status} | ${message} | ${remedy} |`), code)
  }
  t.equal(errors.match(/^\| \d+ \|/gm)?.length, Object.keys(errorTable).length)
})

t.test('the page of prices has a row for each read of both contracts, within the price of a read', async (t) => {
  const page = readFileSync(PRICES_DOCUMENT, 'utf8')
  t.equal(withNewReads(page), page, 'run "npm run docs:reference"')
  const outdated = '| `/agents/outdated` | 1 | 1 | 1 | 1 | 1 | 1 | 1 | 1 |\n'
  t.equal(withNewReads(page.replace(outdated, '')), page.replace(outdated, '') + outdated)
  const ofV4Only = '| `/agents/outdated` | – | – | – | 1 | – | – | – | 1 |\n'
  t.equal(withNewReads(page.replace(outdated, ofV4Only)), page, 'a read that the other contract had')
  const hotfixes = /^\| `\/experimental\/syscollector\/hotfixes` .*\n/m
  const unmeasured = '≤ 62 | ≤ 62 | ≤ 62 | 1'
  const row = `| \`/experimental/syscollector/hotfixes\` | ${unmeasured} | ${unmeasured} |\n`
  t.equal(withNewReads(page.replace(hotfixes, '')), page.replace(hotfixes, '') + row, 'a read of several nodes')
  const [, price, nodes] = /(\d+) calls: 2 × (\d+) nodes/.exec(page) ?? []
  t.equal(Number(price), priceOfRead(Number(nodes)))
  const columns = columnsOf(page)
  const rows = pricedReads(page)
  const priced = new Map(rows)
  t.ok(columns.length > 0 && columns.length % ways.length === 0)
  t.equal(priced.size, rows.length, 'no row twice')
  const reads = ways.map((way) => ({ way, paths: readsOf(way).map(({ path }) => path) }))
  const all = new Set(reads.flatMap(({ paths }) => paths))
  t.same(
    [...priced.keys()].filter((path) => !all.has(path)),
    [],
    MEASURE,
  )
  for (const { way, paths } of reads)
    for (const path of paths) {
      const counts = (priced.get(path) ?? []).filter((_, at) => wayOf(columns[at] ?? '') === way)
      t.ok(
        counts.length === columns.length / ways.length &&
          counts.every((count) => Number.parseInt(count.replace('≤ ', ''), 10) <= Number(price)),
        `${way.name}: ${path}: ${counts}`,
      )
    }
})
