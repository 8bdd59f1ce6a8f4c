import t from 'tap'
import { reloadable } from './edge.ts'

const DEFAULT_TTL_MS = 7000

t.test('a hundred signals at once cause two reloads at most, and the newest file is in use afterwards', async (t) => {
  const { edge, change, get, logged } = await reloadable(t)
  const signals = () => Promise.all(Array.from({ length: 100 }, () => edge.edge.reload()))
  await signals()
  const count = logged('configuration unchanged').length
  t.ok(count === 1 || count === 2, `${count} reloads`)

  const before = signals()
  await change({ 'cache.defaultTtl': `${DEFAULT_TTL_MS / 1000}s` })
  t.match(await (await get('/cache/config')).json(), { data: { defaultDuration: DEFAULT_TTL_MS } })
  await before
})
