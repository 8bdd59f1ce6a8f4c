import t from 'tap'
import { LOCAL_BYTES, openHttpSource } from './distinct-urls.ts'

/** `npm run check:keys` checks a million. */
const URLS = 2000

t.test('URLs that are requested once take no more memory than the limit of the cache', async (t) => {
  const source = await openHttpSource()
  t.teardown(() => source.close())
  // Warm up: code and structures that are loaded once do not count.
  await source.run(0, 300)
  const before = await source.memory()
  const rows = await source.run(300, URLS)
  t.ok(rows > URLS / 2, `${rows} are stored`)
  const { held } = await source.memory()
  t.ok(held - before.held < 2 * LOCAL_BYTES, `${held - before.held} bytes more`)
})
