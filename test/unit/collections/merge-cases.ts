/** Arbitrary rows on several nodes, the pages that the nodes return, and the expected pages of the merge. */
import fc from 'fast-check'
import { type MergeInput, type MergeOptions, mergeRows } from '../../../src/collections/merge.ts'
import { createCollectionBody } from '../../../src/collections/page-frame.ts'
import type { Rows } from '../../../src/collections/rows.ts'
import type { ArraySource, DatabaseSource, Source } from '../../../src/collections/sources.ts'
import type { Row } from '../../../src/collections/value.ts'
import { type ReferenceCollection, referencePage } from '../../support/reference-collection.ts'

export const flat: DatabaseSource = {
  engine: 'database',
  fields: { a: 'text', b: 'number', scan_id: 'number', tx_packets: 'number', tx_bytes: 'number' },
  defaultSort: '+scan_id',
  nested: true,
}
export const dotted: DatabaseSource = {
  engine: 'database',
  fields: { a: 'text', b: 'number', 'os.name': 'text', 'os.major': 'number', 'os.version': 'text' },
  defaultSort: '-b',
  sortBy: { 'os.version': [{ field: 'os.major', as: 'integer' }, { field: 'a' }] },
}
export const array: ArraySource = { engine: 'array', sortable: ['a', 'b'], defaultSort: '-a' }
export const listed: ArraySource = { engine: 'array' }

/** The same collections for the oracle, by the source that the join is given. */
const references = new Map<Source, ReferenceCollection>([
  [flat, { engine: 'database', order: '+scan_id', numeric: ['b', 'scan_id', 'tx_packets', 'tx_bytes'], nested: true }],
  [
    dotted,
    {
      engine: 'database',
      order: '-b',
      numeric: ['b', 'os.major'],
      sortBy: { 'os.version': [{ field: 'os.major', as: 'integer' }, { field: 'a' }] },
    },
  ],
  [array, { engine: 'array', order: '-a' }],
])

export function referenceOf({ source }: Pick<Case, 'source'>): ReferenceCollection {
  const reference = references.get(source)
  if (reference === undefined) throw new Error('this source has no oracle')
  return reference
}

/** Numbers, texts of digits, capitals, quotes and brackets, characters around the surrogates, lists, missing values. */
export const value: fc.Arbitrary<unknown> = fc.oneof(
  fc.constant(undefined),
  fc.constant(null),
  fc.integer({ min: -3, max: 3 }),
  fc.constantFrom(1.5, -0.25, 1e21, 12345678901234),
  fc.constantFrom('a', 'B', 'b', '', '2', '10', '003', 'é', '"}],"totalItems":7}}', '\\', '{[', '\u0000\n'),
  fc.constantFrom(
    '😀',
    '\u{10000}',
    '\u{10ffff}',
    '\ud7ff',
    '\ue000',
    '～',
    '\uffff',
    '\uffff\u0000',
    '\uffffa',
    '😀a',
    '～a',
  ),
  fc.constantFrom('\ud800', '\udfff', '\ud83d～', '\udfff😀'),
  fc.constantFrom(true, ['x', 'Y'], [], [{ z: 1 }], { deep: [1, { er: ']' }] }),
)

const fields: Readonly<Record<string, readonly string[]>> = {
  flat: ['a', 'b', 'scan_id', 'tx_packets', 'tx_bytes'],
  dotted: ['a', 'b', 'os.name', 'os.major'],
  array: ['a', 'b'],
}

export interface Case {
  readonly source: Source
  readonly sort: string | undefined
  /** The rows of each node, each with a unique `at`. */
  readonly nodes: readonly (readonly Row[])[]
}

export const cases: fc.Arbitrary<Case> = fc
  .constantFrom<[string, Source]>(['flat', flat], ['dotted', dotted], ['array', array])
  .chain(([name, source]) => {
    const own = fields[name] ?? []
    const sortable = source.engine === 'database' ? Object.keys(source.fields) : own
    const row = fc.tuple(...own.map(() => value)).map((values) => rowOf(own, values))
    const field = fc.constantFrom(...sortable)
    const sort = fc.oneof(
      fc.constant(undefined),
      fc.constantFrom('+', '-'),
      fc.tuple(fc.constantFrom('', '+', '-'), field).map(([sign, one]) => sign + one),
      fc.tuple(fc.constantFrom('', '-'), field, field).map(([sign, one, other]) => `${sign}${one},${other}`),
    )
    const nodes = fc.array(fc.array(row, { maxLength: 8 }), { minLength: 1, maxLength: 40 })
    return fc.record({ source: fc.constant(source), sort, nodes: nodes.map(numbered) })
  })

function rowOf(names: readonly string[], values: readonly unknown[]): Row {
  const row: Record<string, unknown> = {}
  for (const [at, name] of names.entries()) {
    const given = values[at]
    if (given === undefined) continue
    const [outer = '', inner] = name.split('.')
    if (inner === undefined) row[name] = given
    else row[outer] = { ...(row[outer] as Row | undefined), [inner]: given }
  }
  return row
}

function numbered(nodes: readonly (readonly Row[])[]): Row[][] {
  let at = 0
  return nodes.map((rows) => rows.map((row) => ({ ...row, at: at++ })))
}

/** The rows of a page, as the check of the response finds them. */
export function partOf(items: readonly unknown[], total = items.length): Rows {
  const texts = items.map((item) => Buffer.from(`${JSON.stringify(item)},`))
  const ranges: number[] = []
  let to = 0
  for (const { length } of texts) {
    ranges.push(to, to + length - 1)
    to += length
  }
  return { bytes: Buffer.concat(texts), from: 0, to, ranges: Uint32Array.from(ranges), total, known: {} }
}

/** What a node returns: sorted by the node, cut to `limit`, nested as its rows leave it. */
export function sortedPageOf(rows: readonly Row[], one: Case, limit: number): Rows {
  const page = referencePage(rows, { ...sortOf(one), limit: String(limit) }, referenceOf(one))
  return partOf(page.items, page.totalItems)
}

/** The page that one node would return that held all rows. */
export function wholeOf(one: Case): Row[] {
  return referencePage(one.nodes.flat(), { ...sortOf(one), limit: '1000' }, referenceOf(one)).items
}

export function sortOf({ sort }: Pick<Case, 'sort'>): { readonly sort?: string } {
  return sort === undefined ? {} : { sort }
}

export interface Page {
  readonly items: readonly unknown[]
  readonly totalItems: number
}

export async function pageOf(parts: readonly MergeInput[], how: MergeOptions): Promise<Page> {
  const joined = await mergeRows(parts, how)
  if (!joined.ok) throw new Error(joined.reason)
  return JSON.parse((await createCollectionBody(joined)).toString()).data
}
