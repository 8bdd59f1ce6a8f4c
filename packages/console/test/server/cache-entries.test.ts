import t from 'tap'
import type { IndexEntry } from '../../../../src/core/cache-entries.ts'
import { eventually } from '../../../../test/support/eventually.ts'
import { createEntryList } from '../../server/cache-entries.ts'

const row = (key: string): IndexEntry => ({
  key,
  url: `/agents/${key}`,
  group: 'agents',
  endpoint: '/agents/:agent_id',
  scope: 'everyone',
  tags: [],
  size: 1,
  age: 0,
  timeLeft: 1000,
  hits: 0,
  fetchTime: 1,
})

/** An index whose reads finish when the test calls `finish`. */
function manualIndex() {
  const reads: ((rows: readonly IndexEntry[]) => void)[] = []
  let purges = 0
  return {
    index: {
      list: () => new Promise<readonly IndexEntry[]>((resolve) => reads.push(resolve)),
      purgeCount: () => purges,
    },
    purge: () => {
      purges += 1
    },
    reads,
    finish: (...keys: string[]) => reads.shift()?.(keys.map(row)),
  }
}

const keysOf = async (page: Promise<{ readonly items: readonly { readonly key: string }[] }>) =>
  (await page).items.map(({ key }) => key)

t.test('a page requested after a purge does not use a read that began before the purge', async (t) => {
  const { index, reads, finish, purge } = manualIndex()
  const entries = createEntryList(index, () => 0)
  const before = keysOf(entries.page({}))
  purge()
  const after = keysOf(entries.page({}))
  finish('purged', 'remaining')
  t.strictSame(await before, ['purged', 'remaining'])
  const meanwhile = keysOf(entries.page({}))
  await eventually(() => reads.length === 1)
  finish('remaining')
  t.strictSame(
    [await after, await meanwhile, await keysOf(entries.page({}))],
    [['remaining'], ['remaining'], ['remaining']],
  )
  t.equal(reads.length, 0, 'all pages after the purge share one read')
})

t.test('however many purges there are, one read is in progress and one waits', async (t) => {
  const { index, reads, finish, purge } = manualIndex()
  const entries = createEntryList(index, () => 0)
  const pages = [keysOf(entries.page({}))]
  for (let times = 0; times < 50; times += 1) {
    purge()
    pages.push(keysOf(entries.page({})))
  }
  t.equal(reads.length, 1)
  finish('purged', 'remaining')
  await eventually(() => reads.length === 1)
  finish('remaining')
  const [first, ...others] = await Promise.all(pages)
  t.strictSame(first, ['purged', 'remaining'])
  for (const page of others) t.strictSame(page, ['remaining'])
  t.equal(reads.length, 0)
})

t.test('while a long read runs, pages come from the last snapshot', async (t) => {
  const { index, reads, finish, purge } = manualIndex()
  let now = 0
  const entries = createEntryList(index, () => now)
  const first = keysOf(entries.page({}))
  now = 1000
  finish('old')
  t.strictSame(await first, ['old'])
  now += 8000
  t.strictSame(await keysOf(entries.page({})), ['old'], 'the snapshot is outdated, and a new read runs')
  purge()
  const after = keysOf(entries.page({}))
  now += 1000
  finish('old')
  await new Promise((resolve) => setImmediate(resolve))
  finish('new')
  t.strictSame([await after, await keysOf(entries.page({}))], [['new'], ['new']])
  t.equal(reads.length, 0)
})

t.test('entries are searched, sorted and paged', async (t) => {
  const rows = ['c', 'a', 'b'].map((key, at) => ({ ...row(key), size: at, scope: at === 0 ? 'digest' : 'everyone' }))
  const entries = createEntryList({ list: async () => rows, purgeCount: () => 0 }, () => 0)
  t.strictSame(await keysOf(entries.page({ sort: '-size' })), ['b', 'a', 'c'])
  t.strictSame(await keysOf(entries.page({ sort: 'url', offset: 1, limit: 1 })), ['b'])
  t.strictSame(await keysOf(entries.page({ search: 'AGENTS /b' })), ['b'], 'all words, in any case')
  t.strictSame(await keysOf(entries.page({ scope: 'rights' })), ['c'], 'every scope but everyone')
  t.match(await entries.page({ search: 'agents/b' }), { total: 1, all: 3, bytes: 2, partial: false })
})

t.test('a refresh reads the index again, though it was read a moment ago', async (t) => {
  const { index, reads, finish } = manualIndex()
  const entries = createEntryList(index, () => 0)
  const first = keysOf(entries.page({}))
  finish('old')
  t.strictSame(await first, ['old'])
  t.strictSame(await keysOf(entries.page({})), ['old'], 'without a refresh')
  t.equal(reads.length, 0)
  entries.refresh()
  const second = keysOf(entries.page({}))
  await eventually(() => reads.length === 1)
  finish('old', 'stored since')
  t.strictSame(await second, ['old', 'stored since'])
})

t.test('a selection reads the index again, and names no more entries than its limit', async (t) => {
  let listed = ['a', 'b']
  const entries = createEntryList({ list: async () => listed.map(row), purgeCount: () => 0 }, () => 0)
  await entries.page({})
  listed = ['a', 'b', 'c']
  const keys = async (search: string, count: number) => {
    const { rows, total } = await entries.select({ search }, count)
    return [rows.map(({ key }) => key), total]
  }
  t.strictSame(await keys('agents/c', 5), [['c'], 1])
  t.strictSame(await keys('agents', 2), [['a', 'b'], 3])
})
