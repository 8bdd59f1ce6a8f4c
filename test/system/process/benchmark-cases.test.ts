import t from 'tap'
import { contenders, EDGE, HTTP_PROXY, type Kind, MISSES, NODE } from '../../bench/cases.ts'
import { bare } from '../../bench/contenders.ts'
import { checkProbe } from '../../bench/verify.ts'
import { startRedis } from '../../support/redis.ts'

t.test('every case of the benchmark of hits requests what its row names', async (t) => {
  const origin = await bare()
  t.teardown(() => origin.stop())
  const redis = await startRedis()
  t.teardown(() => redis.close())
  const place = { folder: t.testdir(), origin: origin.url, redis: redis.url }
  const checked: string[] = []
  for (const { name, start, cases } of contenders(place)) {
    // The edge with and without TLS; other servers need not be installed.
    if (!/^node:|^edge( \(tls\))?$|\(miss\)$/.test(name)) continue
    const server = await start()
    if (typeof server === 'string') throw new Error(server)
    t.teardown(() => server.stop())
    for (const { kind, row, path, headers, expected, isNumbered } of await cases(server)) {
      const url = server.url + path + (isNumbered ? '1000000001' : '')
      await checkProbe({ name: `${kind}, ${row}`, url, headers, expected })
      checked.push(`${kind}, ${row}`)
    }
  }
  const kinds: readonly Kind[] = ['small', 'medium', 'large', 'Bearer', 'not modified', 'tls', 'fetch', 'gzip']
  for (const kind of kinds) for (const row of [NODE, EDGE]) t.ok(checked.includes(`${kind}, ${row}`), `${kind}, ${row}`)
  for (const row of [HTTP_PROXY, ...Object.values(MISSES)]) t.ok(checked.includes(`miss, ${row}`), `miss, ${row}`)
})
