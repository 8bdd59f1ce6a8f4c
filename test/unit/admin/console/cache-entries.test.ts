import t from 'tap'
import { createEntries } from '../../../../src/admin/console/cache-entries.ts'
import type { IndexEntry } from '../../../../src/core/response.ts'

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

/** An index that is read when the test says so. */
function slowIndex() {
  const open: ((rows: readonly IndexEntry[]) => void)[] = []
  return {
    index: { list: () => new Promise<readonly IndexEntry[]>((resolve) => open.push(resolve)) },
    open,
    answer: (...keys: string[]) => open.shift()?.(keys.map(row)),
  }
}

const keysOf = async (page: Promise<{ readonly items: readonly { readonly key: string }[] }>) =>
  (await page).items.map(({ key }) => key)

t.test('what was purged while the list was read is not shown by those who ask afterwards', async (t) => {
  const { index, open, answer } = slowIndex()
  const entries = createEntries(index, () => 0)
  const before = keysOf(entries.page({}))
  entries.forget()
  const after = keysOf(entries.page({}))
  t.equal(open.length, 2, 'who asks after the purge waits for a reading of its own')
  answer('purged', 'stays')
  t.strictSame(await before, ['purged', 'stays'])
  const meanwhile = keysOf(entries.page({}))
  t.equal(open.length, 1, 'which is shared')
  answer('stays')
  t.strictSame([await after, await meanwhile, await keysOf(entries.page({}))], [['stays'], ['stays'], ['stays']])
})

t.test('whoever has a list that took long to read does not wait for the next', async (t) => {
  const { index, open, answer } = slowIndex()
  let now = 0
  const entries = createEntries(index, () => now)
  const first = keysOf(entries.page({}))
  now = 1000
  answer('old')
  t.strictSame(await first, ['old'])
  now += 8000
  t.strictSame(await keysOf(entries.page({})), ['old'], 'shown while it is read anew')
  entries.forget()
  const after = keysOf(entries.page({}))
  now += 1000
  answer('old')
  await new Promise((resolve) => setImmediate(resolve))
  answer('new')
  t.strictSame([await after, await keysOf(entries.page({}))], [['new'], ['new']])
  t.equal(open.length, 0)
})
