import t from 'tap'
import { contenders } from '../../bench/cases.ts'
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
  for (const { rows, start, cases } of contenders(place)) {
    // The edge with and without TLS; other servers need not be installed.
    if (!rows.some((row) => row.startsWith('node:') || /^edge, Basic(, TLS)?$/.test(row))) continue
    const server = await start()
    if (typeof server === 'string') throw new Error(server)
    t.teardown(() => server.stop())
    for (const { row, column, path, headers, expected } of await cases(server)) {
      const name = `${row}, ${column}`
      await checkProbe({ name, url: server.url + path, headers, expected })
      checked.push(name)
    }
  }
  for (const row of ['node:http', 'edge, Basic', 'edge, Bearer', 'edge, Basic, TLS']) {
    for (const size of ['1.2 kB', '60 kB', '600 kB']) t.ok(checked.includes(`${row}, ${size}`), `${row}, ${size}`)
  }
  for (const row of ['gzip, 600 kB', '304, 1.2 kB', 'no-cache, 1.2 kB'])
    t.ok(checked.includes(`edge, Basic, ${row}`), row)
})
