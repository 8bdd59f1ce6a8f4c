import t from 'tap'
import { startRedis } from '../../../support/redis.ts'
import { startWorld } from './links.ts'

const server = await startRedis()
t.teardown(() => server.close())

const WRITES = 2
/** The times of production. */
const times = { lease: 2000, heartbeatInterval: 500, retryInterval: 100, commandTimeout: 50 }

t.test('no read is older than an acknowledged write, however slow the link of its writer is', async (t) => {
  const { writer, reader, readMeanwhile, stale, hits, sent } = await startWorld(t, server, { times })
  await readMeanwhile(async () => {
    await reader.read()
    for (const latency of [30, 200, 750]) {
      await writer.set({ kind: 'link', toTarget: { delay: latency }, toClient: { delay: latency } })
      for (let write = 0; write < WRITES; write += 1) {
        t.equal(await writer.write(), 'done', `round trip of ${2 * latency} ms`)
        for (let read = 0; read < 20; read += 1) await reader.read()
      }
    }
  })
  t.equal(sent(), 3 * WRITES)
  t.ok(hits() > 0, 'the cache was used')
  t.strictSame(stale, [])
})
