/** Rows that are too long to be scanned in one turn are merged as short ones. */
import t, { type Test } from 'tap'
import { type MergeInput, type MergeOptions, mergeRows } from '../../../src/collections/merge.ts'
import { createCollectionBody } from '../../../src/collections/page-frame.ts'
import { rowsOf } from '../../../src/collections/rows.ts'
import { type Source, sources } from '../../../src/collections/sources.ts'
import type { Row } from '../../../src/collections/value.ts'
import { measureBestRun } from '../../support/event-loop.ts'

/** CPU milliseconds: the bound of src/core/turns.ts. */
const MAX_TURN_MS = 20
const LONG = 300 * 1024

type Element = Row | string

const bodyOf = (items: readonly Element[]) =>
  Buffer.from(JSON.stringify({ error: 0, data: { items, totalItems: items.length } }))

async function inputOf(body: Buffer, more: Partial<MergeInput>): Promise<MergeInput> {
  const found = await rowsOf(body)
  if (!found.ok) throw new Error(found.reason)
  return { rows: found.rows, isSorted: true, ...more }
}

async function merge(t: Test, inputs: readonly MergeInput[], options: Partial<MergeOptions> & { source: Source }) {
  const merged = await mergeRows(inputs, { sort: undefined, offset: 0, limit: 100, ...options })
  if (!merged.ok) return merged.reason
  const { items } = JSON.parse((await createCollectionBody(merged)).toString()).data as { items: Element[] }
  t.equal(
    items.length,
    merged.rowsTaken.reduce((sum, rows) => sum + rows),
  )
  return items
}

const texts = ['b', 'A', 'a"\\é', '', 'node_name', 'x', 'B']
/** Two inputs whose rows have a member `pad` of this length, at the beginning or the end. */
const rowsWith = (pad: string): readonly (readonly Row[])[] =>
  [0, 1].map((input) =>
    texts.map((name, at) => ({
      ...(at === 1 && { pad }),
      name: `${name}${input}`,
      ...(at === 3 && { node_name: 'other' }),
      scan: { id: at },
      agent_id: at % 3 === 0 ? '000' : '001',
      ...(at === 3 && { pad }),
    })),
  )

const inject = {
  none: undefined,
  'to all': { first: { name: 'node_name', value: 'n' }, last: { name: 'agent_id', value: '9' } },
  'to some': { first: { name: 'node_name', value: 'n' }, where: { field: 'agent_id', is: '000' } },
} as const
const sorts = [undefined, '+name', '-name', '+scan_id', '-scan_id,name', '+version']

t.test('long rows are sorted, changed and written as short ones', async (t) => {
  const shorten = (row: Element) => (typeof row === 'string' ? row : { ...row, ...('pad' in row && { pad: 'short' }) })
  const [long, short] = [rowsWith('x'.repeat(LONG)), rowsWith('short')]
  for (const sort of sorts) {
    for (const [name, injected] of Object.entries(inject)) {
      for (const drop of [undefined, ['scan_id', 'name']]) {
        const merged = async (inputs: typeof long) => {
          const more = { isSorted: drop === undefined, ...(injected && { inject: injected }) }
          const read = await Promise.all(inputs.map((rows) => inputOf(bodyOf(rows), more)))
          return merge(t, read, { sort, source: sources.packages, ...(drop && { drop }) })
        }
        const [one, other] = [await merged(long), await merged(short)]
        if (!Array.isArray(one)) throw new Error(one)
        t.strictSame(one.map(shorten), other, `${sort}, injected ${name}, without ${drop}`)
      }
    }
  }
})

t.test('a long text is a row, and no object', async (t) => {
  const rows = ['c', 'a'.repeat(LONG), 'b']
  const input = () => inputOf(bodyOf(rows), {})
  const sorted = await merge(t, [await input()], { sort: '+', source: sources.catalogue })
  t.strictSame(sorted, [...rows].sort())
  const injected = { ...(await input()), inject: inject['to all'] }
  t.equal(await merge(t, [injected], { source: { engine: 'array' } }), 'a row is not an object')
  t.equal(await merge(t, [await input()], { source: { engine: 'array' }, drop: ['a'] }), 'a row is not an object')
})

t.test('a long row takes no long turn', async (t) => {
  const row = { pad: '"'.repeat(2.5 * 1024 * 1024), name: 'a', agent_id: '000' }
  const body = bodyOf([row, { ...row, name: 'node_name' }])
  const works: readonly Partial<MergeOptions>[] = [
    { sort: '+name' },
    { sort: '+pad' },
    { sort: '+name', drop: ['name'] },
  ]
  for (const how of works) {
    for (const [name, injected] of Object.entries(inject)) {
      const input = await inputOf(body, { isSorted: false, ...(injected && { inject: injected }) })
      const work = async () => {
        const merged = await mergeRows([input], {
          sort: undefined,
          offset: 0,
          limit: 10,
          source: { engine: 'array' },
          ...how,
        })
        return merged.ok && createCollectionBody(merged)
      }
      const longest = await measureBestRun(work, MAX_TURN_MS)
      t.ok(longest < MAX_TURN_MS, `${JSON.stringify(how)}, injected ${name}: ${longest.toFixed(1)} ms`)
    }
  }
})
