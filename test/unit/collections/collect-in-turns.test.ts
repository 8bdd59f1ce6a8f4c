import fc from 'fast-check'
import t from 'tap'
import { collect } from '../../../packages/simulator/src/data/collect.ts'
import { collectInTurns } from '../../../src/collections/collect.ts'
import { CollectionError, parseCollectionRequest } from '../../../src/collections/request.ts'
import type { ArraySource } from '../../../src/collections/sources.ts'
import type { Row } from '../../../src/collections/value.ts'

const source: ArraySource = {
  engine: 'array',
  defaultSort: '+url',
  sortable: ['url', 'size', 'group'],
  searchable: ['url'],
  filters: { tag: { by: 'equal', fields: ['tags'] } },
}
const now = new Date('2026-11-20T12:00:00Z')
/** More rows than one turn has, and more than are sorted at a time. */
const MANY = 40_000

const manyRows = Array.from({ length: MANY }, (_, at): Row => {
  const number = (at * 7919) % MANY
  return { url: `/agents/${number}`, size: number % 97, group: number % 2 ? 'Odd' : 'even', tags: [`t${number % 3}`] }
})

const query = fc.record(
  {
    sort: fc.constantFrom('url', '-url', 'size', '-size', '+group,size', '-size,url'),
    search: fc.constantFrom('9', 'AGENTS/1', 'none'),
    tag: fc.constantFrom('t0', 't2', 't9'),
    offset: fc.constantFrom('0', '10', '5000', '39990', '50000'),
    limit: fc.constantFrom('1', '100', '1000'),
  },
  { requiredKeys: [] },
)

t.test('many rows are collected in turns as they are in one', async (t) => {
  await fc.assert(
    fc.asyncProperty(query, fc.constantFrom(0, 3, 1024, 1025, MANY), async (wanted, count) => {
      const rows = manyRows.slice(0, count)
      const request = parseCollectionRequest(wanted as Record<string, string>, now)
      const found = await collectInTurns(rows, (row) => row, request, source)
      t.strictSame(found, collect(rows, request, source))
    }),
    { numRuns: 60 },
  )
})

t.test('invalid requests are refused with the same codes', async (t) => {
  for (const [wanted, code] of [
    [{ limit: '1001' }, 1405],
    [{ sort: 'none' }, 1403],
    [{ select: 'url' }, 1000],
  ] as const) {
    const request = parseCollectionRequest(wanted, now)
    const refused = collectInTurns(manyRows, (row) => row, request, source)
    await t.rejects(refused, new CollectionError(code))
  }
})
