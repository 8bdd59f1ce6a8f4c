/**
 * Clients who arrive at once in front of release 5.0, which takes 300 calls a minute of the edge, ten to unknown paths, and one
 * login after the other. `npm run bench:budget` has more clients, for minutes.
 */
import t from 'tap'
import { measureBudget } from '../../bench/budget/measure.ts'

// Busy cores need minutes. The suite ends a file that has no result for ten.
t.setTimeout(0)

const LEAST = { seconds: 4, pause: 1_000, scale: 5 } as const

t.test('100 users of the manager log in once each, and get what each would get alone', async (t) => {
  const figures = await measureBudget({ ...LEAST, mode: 'passthrough', contract: 'v4', clients: 100 })
  t.strictSame([...figures.wrong], [])
  t.strictSame([...figures.refused], [])
  t.match(figures, { logins: 100, tooMany: 0, unknown: 0 })
  t.ok(figures.mostPerMinute <= 270, `${figures.mostPerMinute} calls`)
})

t.test('clients of the v3 contract ask for what the release no longer has', async (t) => {
  const figures = await measureBudget({ ...LEAST, mode: 'service', contract: 'v3', clients: 100 })
  t.strictSame([...figures.wrong], [])
  t.strictSame([...figures.refused], [])
  t.match(figures, { tooMany: 0, unknown: 0 })
  t.ok((figures.right.get(501) ?? 0) > 0)
  t.ok(figures.mostPerMinute <= 270, `${figures.mostPerMinute} calls`)
})
