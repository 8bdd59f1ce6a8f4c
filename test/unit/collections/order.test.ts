import fc from 'fast-check'
import t from 'tap'
import { collect } from '../../../packages/simulator/src/data/collect.ts'
import { codePointKey, compareText } from '../../../src/collections/order.ts'
import type { ArraySource, DatabaseSource } from '../../../src/collections/sources.ts'
import type { Row } from '../../../src/collections/value.ts'
import { codePoints, compare, referenceSort } from '../../support/reference-collection.ts'

const now = new Date('2026-11-20T12:00:00Z')
const database: DatabaseSource = { engine: 'database', fields: { a: 'text', b: 'number' }, defaultSort: '+b' }
const array: ArraySource = { engine: 'array', sortable: ['a', 'b'] }

const value = fc.oneof(
  fc.constant(undefined),
  fc.integer({ min: -3, max: 3 }),
  fc.constantFrom('a', 'B', 'b', '', '2', '10'),
)
const rowsOf = fc
  .array(fc.tuple(value, value), { maxLength: 30 })
  .map((pairs) =>
    pairs.map(([a, b], at): Row => ({ at, ...(a !== undefined && { a }), ...(b !== undefined && { b }) })),
  )
const source = fc.constantFrom(database, array)
const sort = fc.constantFrom('a', '-a', '+b', ' b,a', '-a,b', '+a, b')

t.test('every order is total and stable: rows with equal keys keep their order', async (t) => {
  fc.assert(
    fc.property(rowsOf, source, sort, (rows, source, sort) => {
      const sorted = collect(rows, { sort, now, limit: 1000 }, source).items
      t.same(new Set(sorted), new Set(rows), 'no row is lost or repeated')
      t.same(collect(sorted, { sort, now, limit: 1000 }, source).items, sorted, 'sorting sorted rows changes nothing')
      const keys = (row: Row) => JSON.stringify([row.a, row.b])
      for (const [at, row] of sorted.entries()) {
        const next = sorted[at + 1]
        if (next && keys(row) === keys(next)) t.ok(Number(row.at) < Number(next.at), 'ties keep their order')
      }
    }),
    { numRuns: 100 },
  )
})

t.test('pages are disjoint, and together they are all rows', async (t) => {
  fc.assert(
    fc.property(rowsOf, source, sort, fc.integer({ min: 1, max: 7 }), (rows, source, sort, limit) => {
      const whole = collect(rows, { sort, now, limit: 1000 }, source)
      const pages: Row[] = []
      for (let offset = 0; offset < whole.totalItems; offset += limit) {
        const page = collect(rows, { sort, now, limit, offset }, source)
        t.equal(page.totalItems, rows.length, 'totalItems is independent of the page')
        pages.push(...page.items)
      }
      t.same(pages, whole.items)
    }),
    { numRuns: 100 },
  )
})

const names = (rows: readonly Row[]) => rows.map((row) => row.a)
const mixed: Row[] = [{ a: 'b' }, { a: 10 }, {}, { a: 'B' }, { a: 2 }, { a: 'a' }]

t.test(
  'missing values come first, then numbers, then texts; a database is case-sensitive, an array is not',
  async (t) => {
    t.strictSame(names(collect(mixed, { sort: 'a', now }, database).items), [undefined, 2, 10, 'B', 'a', 'b'])
    t.strictSame(names(collect(mixed, { sort: 'a', now }, array).items), [undefined, 2, 10, 'a', 'b', 'B'])
    t.strictSame(names(collect(mixed, { sort: '-a', now }, array).items), ['b', 'B', 'a', 10, 2, undefined])
  },
)

t.test('one sign applies to all fields, and fields have the precedence in which they are named', async (t) => {
  const rows: Row[] = [
    { a: 'x', b: 1 },
    { a: 'x', b: 2 },
    { a: 'y', b: 1 },
  ]
  const order = (sort: string) => collect(rows, { sort, now }, database).items.map(({ a, b }) => `${a}${b}`)
  t.strictSame(order('-a,b'), ['y1', 'x2', 'x1'])
  t.strictSame(order('b , a'), ['x1', 'y1', 'x2'])
  t.strictSame(order('-'), ['x2', 'x1', 'y1'], 'a sign alone is the default sort in that direction')
  t.throws(() => order('a,-b'), { code: 1403 }, 'a later sign is part of the name of the field')
  t.throws(() => order('constructor'), { code: 1403 })
})

t.test('array sources without a list of sortable fields take those of the first row', async (t) => {
  const source: ArraySource = { engine: 'array' }
  t.throws(() => collect([{ a: 1 }, { b: 1 }], { sort: 'b', now }, source), { code: 1403 })
  t.throws(() => collect([{ a: 1 }], { sort: '-', now }, source), { code: 1404 })
  t.strictSame(collect([], { sort: 'b', now }, source), { items: [], totalItems: 0 })
})

/** Characters on both sides of the surrogates, and surrogates without their other half. */
const texts = fc
  .array(
    fc.constantFrom(
      '',
      'a',
      'Z',
      '\0',
      'é',
      '中',
      '\ud7ff',
      '\ue000',
      '～',
      '\ufffe',
      '\uffff',
      '\u{10000}',
      '😀',
      '😁',
    ),
    { maxLength: 4 },
  )
  .map((characters) => characters.join(''))
const anyText = fc.oneof(
  texts,
  fc.string({ unit: 'binary' }),
  fc.string({ unit: fc.constantFrom('\ud800', '\udbff', '\udc00', '\udfff', '～', 'a') }),
)

t.test('texts are compared by code point, as SQLite and Python compare them', async (t) => {
  t.ok(compareText('～', '😀') < 0, 'U+FF5E comes before U+1F600')
  fc.assert(
    // A text must not be the name of an assertion: U+2028 ends a line of the report.
    fc.property(anyText, anyText, (a, b) => {
      const isOrdered = Math.sign(compareText(a, b)) === Math.sign(compare(codePoints(a), codePoints(b)))
      return isOrdered && (codePointKey(a) === codePointKey(b)) === (a === b)
    }),
    { numRuns: 2000 },
  )
  t.pass('no counterexample was found')
})

t.test('rows with texts from the whole of Unicode are in the order of the oracle', async (t) => {
  const unicodeRows = fc.array(anyText, { maxLength: 20 }).map((all) => all.map((a, at) => ({ a, b: at })))
  fc.assert(
    fc.property(unicodeRows, fc.constantFrom('a', '-a', '-a,b', 'b'), (rows, sort) => {
      t.strictSame(
        collect(rows, { sort, now, limit: 1000 }, database).items,
        referenceSort(rows, sort, { engine: 'database', numeric: ['b'] }),
      )
    }),
    { numRuns: 300 },
  )
})
