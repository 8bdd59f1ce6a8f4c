import t from 'tap'
import { eventually } from '../../../support/eventually.ts'
import { CONNECTIONS, LOCAL_BYTES, openHttpSource, PIPELINE_DEPTH } from './distinct-urls.ts'

/** `npm run check:keys` checks a million. */
const URLS = 2000
const WARM_UP = CONNECTIONS * PIPELINE_DEPTH

t.test('URLs that are requested once take no more memory than the limit of the cache', async (t) => {
  // On busy cores the requests take a minute; nothing expires meanwhile.
  const source = await openHttpSource({ ttl: 600_000 })
  t.teardown(() => source.close())
  // Warm up: code and structures that are loaded once do not count. Each connection sends something, because the edge
  // closes connections that send nothing for five seconds.
  await source.run(0, WARM_UP)
  const before = await source.memory()
  const rows = await source.run(WARM_UP, URLS)
  t.ok(rows > URLS / 2, `${rows} are stored`)
  // The last requests are still being ended when the client has their responses.
  await eventually(async () => (await source.memory()).held - before.held < 2 * LOCAL_BYTES)
})
