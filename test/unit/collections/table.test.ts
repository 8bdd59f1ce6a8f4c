import t from 'tap'
import { collect } from '../../../packages/simulator/src/data/collect.ts'
import { parseCollectionRequest } from '../../../src/collections/request.ts'
import { type Source, sources } from '../../../src/collections/sources.ts'
import { TableBuilder } from '../../../src/collections/table-builder.ts'
import type { Element } from '../../../src/collections/value.ts'

const NOW = new Date('2026-11-20T12:00:00Z')
const ROWS = 6000
/** Columns with a different value in each row, with few values, with lists, with missing and with mixed values. */
const rows = Array.from({ length: ROWS }, (_, at) => ({
  id: String((at * 4481) % ROWS).padStart(3, '0'),
  name: `agent-${(at * 7919) % ROWS}`,
  status: at % 3 === 0 ? 'Active' : 'Disconnected',
  group: at % 5 === 0 ? ['web', 'default'] : ['default'],
  ...(at % 4 !== 0 && { os: { name: `os-${at % 7}`, major: at % 2 === 0 ? at % 11 : `${at % 11}`, minor: '04' } }),
  dateAdd: `2026-11-${at % 2 === 0 ? '19' : '20'} 10:00:00`,
}))

async function tableOf(elements: readonly Element[], source: Source) {
  const builder = new TableBuilder(source)
  for (const element of elements) builder.add(element)
  const table = await builder.build()
  return async (query: Readonly<Record<string, string>>, now = NOW) => {
    const { rows: places, totalItems } = await table.page(parseCollectionRequest(query, now))
    return { items: places.map((place) => elements[place]), totalItems }
  }
}

const queries: readonly Readonly<Record<string, string>>[] = [
  { sort: '+name', offset: '10', limit: '7' },
  { sort: '-name', offset: '5990', limit: '20' },
  { sort: '-status,name', limit: '30' },
  { sort: '+os.version', limit: '40', offset: '3000' },
  { sort: '-group', limit: '3' },
  { q: 'name~77', sort: '-id' },
  { q: '(status=active,os.name=os-3);id>100', sort: 'name' },
  { q: 'os.name=null', sort: 'id' },
  { q: 'group=web', sort: '-', offset: '100' },
  { search: '123', sort: 'name' },
  { search: '!os-1', sort: 'name', limit: '1000' },
  { status: 'active', 'os.name': 'OS-2,os-4', sort: 'name' },
  { name: 'nobody', sort: 'name' },
]

t.test('pages of many rows are those of the rows themselves', async (t) => {
  const page = await tableOf(rows, sources.agents)
  for (const query of [...queries, ...queries.toReversed()]) {
    const expected = collect(rows, parseCollectionRequest(query, NOW), sources.agents)
    t.strictSame(await page(query), expected, JSON.stringify(query))
  }
})

t.test('equal requests at the same time have the same page', async (t) => {
  const page = await tableOf(rows, sources.agents)
  const pages = await Promise.all(queries.flatMap((query) => [page(query), page(query)]))
  for (const [at, query] of queries.entries()) {
    t.strictSame(pages[2 * at], pages[2 * at + 1])
    t.strictSame(pages[2 * at], collect(rows, parseCollectionRequest(query, NOW), sources.agents))
  }
})

t.test('a table that has answered many different queries still answers the first one', async (t) => {
  const page = await tableOf(rows, sources.agents)
  const first = await page({ q: 'id>5990', sort: 'name' })
  for (let at = 0; at < 40; at += 1) await page({ q: `id>${at}`, limit: '1' })
  t.strictSame(await page({ q: 'id>5990', sort: 'name' }), first)
  t.equal(first.totalItems, 9)
})

t.test('collections of texts are sorted and searched', async (t) => {
  const texts = ['b', 'A', 'c', 'ab']
  const page = await tableOf(texts, sources.catalogue)
  for (const query of [{ sort: '-' }, { search: 'b', sort: '+' }, { search: '!b' }]) {
    const inOrder = {
      ...(sources.catalogue as Source),
      ...(!('sort' in query) && { defaultSort: undefined }),
    } as Source
    t.strictSame(await page(query), collect(texts, parseCollectionRequest(query, NOW), inOrder), JSON.stringify(query))
  }
})
