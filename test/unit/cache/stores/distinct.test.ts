import t from 'tap'
import { NEAR_BYTES, overHttp } from './distinct.ts'

/** A million of them: `npm run check:keys`. */
const URLS = 2000

t.test('URLs that are asked for once take no more memory than may be kept', async (t) => {
  const source = await overHttp()
  t.teardown(() => source.close())
  // What is loaded and made once is not of the answers.
  await source.run(0, 300)
  const before = await source.memory()
  const rows = await source.run(300, URLS)
  t.ok(rows > URLS / 2, `${rows} are kept`)
  const { held } = await source.memory()
  t.ok(held - before.held < 2 * NEAR_BYTES, `${held - before.held} bytes more`)
})
