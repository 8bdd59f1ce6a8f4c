import fc from 'fast-check'
import t from 'tap'
import { collect } from '../../../packages/simulator/src/data/collect.ts'
import { type MergeOptions, mergeRows } from '../../../src/collections/merge.ts'
import { createCollectionBody, frameOf } from '../../../src/collections/page-frame.ts'
import type { InjectedMembers } from '../../../src/collections/page-writer.ts'
import { rowsOf } from '../../../src/collections/rows.ts'
import { sources } from '../../../src/collections/sources.ts'
import { flat, listed, partOf, value } from './merge-cases.ts'

const how: MergeOptions = { sort: '+b', source: flat, offset: 0, limit: 100 }

async function textOf(
  items: readonly unknown[],
  inject: InjectedMembers,
  more: Partial<MergeOptions> = {},
): Promise<string> {
  const merged = await mergeRows([{ rows: partOf(items), isSorted: true, inject }], { ...how, ...more })
  return merged.ok ? `[${merged.chunks.map(String).join('')}]` : merged.reason
}

t.test('members are injected at the start or the end of every row', async (t) => {
  const first = { name: 'node_name', value: 'worker-1' }
  const last = { name: 'agent_id', value: '003' }
  t.equal(
    await textOf([{ b: 1 }, {}], { first }, { sort: '-b' }),
    '[{"node_name":"worker-1","b":1},{"node_name":"worker-1"}]',
  )
  t.equal(await textOf([{}, { b: 1 }], { last }), '[{"agent_id":"003"},{"b":1,"agent_id":"003"}]')
  t.equal(
    await textOf([{}, { b: { c: 1 } }], { first, last }),
    '[{"node_name":"worker-1","agent_id":"003"},{"node_name":"worker-1","b":{"c":1},"agent_id":"003"}]',
  )
  t.equal(await textOf([{ a: '\u2028' }], { first: { name: 'n"1', value: 'a"b' } }), '[{"n\\"1":"a\\"b","a":"\u2028"}]')
})

t.test('injected members do not replace members of the row', async (t) => {
  const names = fc.constantFrom('b', 'node_name', 'agent_id', 'x', 'node_name"', 'first')
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.dictionary(names, value, { noNullPrototype: true }), { maxLength: 5 }),
      async (rows) => {
        const inject = { first: { name: 'node_name', value: 'w' }, last: { name: 'agent_id', value: '7' } }
        const got = JSON.parse(await textOf(rows, inject, { source: { engine: 'array' }, sort: undefined }))
        const expected = rows.map((row) => ({ node_name: 'w', agent_id: '7', ...JSON.parse(JSON.stringify(row)) }))
        t.strictSame(got, expected)
      },
    ),
    { numRuns: 200 },
  )
})

t.test('members can be injected into some rows only', async (t) => {
  const inject = { first: { name: 'node_name', value: 'w' }, where: { field: 'agent_id', is: '000' } }
  const rows = [{ agent_id: '000' }, { agent_id: '001' }, { b: '000', agent_id: '001' }, { b: 'x' }]
  t.equal(
    await textOf(rows, inject, { source: { engine: 'array' }, sort: undefined }),
    '[{"node_name":"w","agent_id":"000"},{"agent_id":"001"},{"b":"000","agent_id":"001"},{"b":"x"}]',
  )
})

t.test('injecting into a text is an error', async (t) => {
  const merged = await mergeRows(
    [{ rows: partOf(['a']), isSorted: true, inject: { first: { name: 'n', value: 'w' } } }],
    {
      ...how,
      source: sources.catalogue,
      sort: undefined,
    },
  )
  t.match(merged, { ok: false, input: 0, reason: 'a row is not an object' })
})

t.test('texts are sorted by themselves', async (t) => {
  const inputs = [
    ['B', 'a', 'c'],
    ['A', 'b'],
  ].map((texts) => ({ rows: partOf(texts), isSorted: false }))
  const merged = await mergeRows(inputs, { ...how, source: sources.catalogue, sort: '-' })
  t.equal(
    merged.ok && (await createCollectionBody(merged)).toString(),
    '{"error":0,"data":{"items":["c","B","b","a","A"],"totalItems":5}}',
  )
})

t.test('dropped fields are removed, with the object that held them', async (t) => {
  const rows = [
    { scan: { id: 1 }, a: 'x' },
    { scan: { id: 2, time: 't' }, a: 'y' },
  ]
  t.equal(
    await textOf(rows, { last: { name: 'agent_id', value: '1' } }, { sort: '+scan_id', drop: ['scan_id'] }),
    '[{"a":"x","agent_id":"1"},{"scan":{"time":"t"},"a":"y","agent_id":"1"}]',
  )
})

t.test('the bytes of rows are copied unchanged', async (t) => {
  const text = '{"error":0,"data":{"items":[ {"b": 1.0e2,"n":12345678901234567890 } ,\n{"b":200.00}],"totalItems":2}}'
  const found = await rowsOf(Buffer.from(text))
  if (!found.ok) return t.fail(found.reason)
  const merged = await mergeRows([{ rows: found.rows, isSorted: true }], how)
  t.equal(merged.ok && merged.chunks.map(String).join(''), '{"b": 1.0e2,"n":12345678901234567890 } ,\n{"b":200.00}')
})

t.test('rows have the name of their node, and failed_nodes follows the items', async (t) => {
  const inputs = ['master', 'worker-1'].map((node) => {
    return {
      rows: partOf([{ version: `v ${node}` }]),
      isSorted: true,
      inject: { first: { name: 'node_name', value: node } },
    }
  })
  const merged = await mergeRows(inputs, { ...how, source: { engine: 'array' }, sort: undefined })
  t.equal(
    merged.ok && (await createCollectionBody(merged, frameOf({ failed_nodes: ['x'] }))).toString(),
    '{"error":0,"data":{"items":[{"node_name":"master","version":"v master"},{"node_name":"worker-1","version":"v worker-1"}],"totalItems":2,"failed_nodes":["x"]}}',
  )
  t.strictSame(merged.ok && merged.rowsTaken, [1, 1])
})

t.test('a sort that the source does not support is refused with its code', async (t) => {
  const inputs = [{ rows: partOf([{ b: 1 }]), isSorted: true }]
  for (const [sort, source, code] of [
    ['nope', flat, 1403],
    ['z', listed, 1403],
    ['-', listed, 1404],
  ] as const) {
    t.throws(() => mergeRows(inputs, { ...how, sort, source }), { code })
    t.throws(() => collect([{ b: 1 }], { sort, now: new Date() }, source), { code })
  }
})

t.test('missing rows are an error value with the number of the input', async (t) => {
  const inputs = [
    { rows: partOf([{ b: 0 }]), isSorted: true },
    { rows: { ...partOf([{ b: 1 }]), expectedCount: 2 }, isSorted: true },
  ]
  t.match(await mergeRows(inputs, how), { ok: false, input: 1, reason: 'fewer rows than totalItems requires' })
  t.match(
    await mergeRows(inputs, { ...how, limit: 1 }),
    { ok: true, rowsTaken: [1, 0] },
    'rows behind the page are not read',
  )
})
