import t from 'tap'
import { check, type Operation } from './history.ts'
import { missingOf } from './load.ts'

const wrote = (value: number | undefined, begin: number, end: number, key = 'a'): Operation => ({
  key,
  kind: 'write',
  ...(value !== undefined && { value }),
  begin,
  end,
  by: 'one',
})
const read = (value: number, begin: number, end: number, by = 'one', key = 'a'): Operation => ({
  key,
  kind: 'read',
  value,
  begin,
  end,
  by,
})
const kinds = (...history: Operation[]) => check(history).map(({ kind, read, bound }) => [kind, read.begin, bound])

t.test('a history that some order explains has no violation', async (t) => {
  t.same(kinds(wrote(1, 0, 2), read(1, 3, 4), wrote(2, 5, 8), read(2, 9, 10)), [], 'one after the other')
  t.same(kinds(wrote(1, 0, 10), read(0, 1, 2), read(1, 3, 4), read(1, 5, 6)), [], 'either value during a write')
  t.same(kinds(wrote(1, 0, 10), read(1, 1, 6), read(0, 2, 5)), [], 'either order, while two reads overlap')
  t.same(kinds(wrote(2, 0, 9), wrote(1, 1, 5), read(1, 6, 7), read(2, 8, 9)), [], 'the upstream orders two writes')
  t.same(kinds(wrote(undefined, 0, 5), read(0, 6, 7), read(1, 8, 9)), [], 'an unknown outcome that takes effect late')
  t.same(kinds(wrote(1, 0, 1), read(0, 2, 3, 'one', 'b'), read(1, 2, 3)), [], 'keys are independent')
})

t.test('a read that no order explains is a violation', async (t) => {
  t.same(kinds(wrote(1, 0, 2), read(0, 3, 4)), [['stale', 3, 1]], 'older than an acknowledged write')
  t.same(
    kinds(wrote(1, 0, 10), read(1, 1, 3, 'one'), read(0, 4, 5, 'two')),
    [['backwards', 4, 1]],
    'new, then old, at another replica',
  )
  t.same(
    kinds(wrote(1, 0, 1), wrote(2, 2, 3), read(2, 4, 5), read(1, 6, 7)),
    [
      ['stale', 6, 2],
      ['backwards', 6, 2],
    ],
    'both at once',
  )
  t.same(kinds(wrote(1, 5, 6), read(1, 0, 4)), [['early', 0, 0]], 'a value whose write had not begun')
  t.same(
    kinds(wrote(undefined, 0, 1), read(1, 2, 3), read(0, 4, 5)),
    [['backwards', 4, 1]],
    'an unknown outcome undone',
  )
  t.same(kinds(wrote(1, 0, 3), read(0, 3, 4)), [], 'at the same instant there is no order')
})

t.test('a read that is marked detail=without-redis may be old, and no other one', async (t) => {
  const old = { ...read(1, 6, 7, 'two'), isWithoutRedis: true } as const
  const wrote2 = [wrote(1, 0, 1), wrote(2, 2, 3), read(2, 4, 5)]
  t.same(kinds(...wrote2, old), [], 'older than an acknowledged write and than another read')
  t.same(kinds(...wrote2, old, read(1, 6, 7)).length, 2, 'the same read without the mark')
  t.same(kinds(wrote(1, 0, 1), { ...read(2, 2, 3), isWithoutRedis: true }), [['early', 2, 1]], 'a value of no write')
  t.same(
    kinds(wrote(undefined, 0, 1), { ...read(1, 2, 3), isWithoutRedis: true }, read(0, 4, 5)),
    [['backwards', 4, 1]],
    'an unmarked read that is older than a marked one',
  )
})

t.test('one wrong read among many is found', async (t) => {
  const history: Operation[] = []
  for (let value = 1; value <= 5000; value += 1) {
    history.push(wrote(value, value * 10, value * 10 + 2), read(value, value * 10 + 3, value * 10 + 4))
  }
  t.same(check(history), [])
  t.match(check([...history, read(2499, 25_005, 25_006)]), [{ kind: 'stale', bound: 2500 }, { kind: 'backwards' }])
})

t.test('a read that is marked as served without Redis is no older than the writes of the same replica', async (t) => {
  const marked = { ...read(0, 3, 4, 'one'), isWithoutRedis: true } as const
  t.same(kinds({ ...wrote(1, 0, 2), by: 'two' }, marked), [], 'another replica may have written')
  t.same(kinds(wrote(1, 0, 2), marked), [['stale', 3, 1]])
  t.same(kinds(wrote(1, 0, 5), marked), [], 'a write that is not acknowledged')
})

t.test('a register that a whole list lacks was read before its first write', async (t) => {
  const keys = ['003', '004', '005']
  const listed = [{ id: '004', value: 2 }]
  const missing = (path: string) => missingOf(path, listed, keys).map(({ id, value }) => `${id}: ${value}`)
  t.same(missing('/agents'), ['003: 0', '005: 0'])
  t.same(missing('/agents?limit=2&sort=-id&q=id>003'), ['005: 0'])
  t.same(missing('/agents?limit=2&q=id<3000'), ['003: 0', '005: 0'])
  t.same(missing('/agents?limit=1'), [], 'another page may have it')
  t.same(missing('/agents?limit=8&offset=2'), [])
  t.same(missing('/agents/004'), [])
})
