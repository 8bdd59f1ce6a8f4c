import t from 'tap'
import { RedisConnection } from '../../../src/replicas/connection.ts'
import { DEFAULT_TIMES } from '../../../src/replicas/options.ts'
import { startRedis } from '../../support/redis.ts'

const COMMAND_TIMEOUT_MS = 50
const times = { ...DEFAULT_TIMES, commandTimeout: COMMAND_TIMEOUT_MS, socketTimeout: 100 }

/** Blocks the event loop of this process, as the first requests after a start do. */
function block(ms: number): void {
  const end = performance.now() + ms
  while (performance.now() < end);
}

t.test('while this process is busy, Redis is not taken for slow', async (t) => {
  const redis = await startRedis()
  const steps: string[] = []
  const connection = new RedisConnection({ url: redis.url }, times, ({ outcome }) => steps.push(outcome))
  t.teardown(async () => {
    connection.close()
    await redis.close()
  })
  connection.open()
  await connection.waitUntilReady(5000)
  const { client } = connection
  let lost = 0
  client.on('close', () => {
    lost += 1
  })
  // Each reply is there long before the process reads it.
  for (let blocks = 1; blocks <= 3; blocks += 1) {
    const reply = connection.send(COMMAND_TIMEOUT_MS, (each) => each.ping())
    for (let each = 0; each < blocks; each += 1) setTimeout(() => block(2 * COMMAND_TIMEOUT_MS), 1)
    block(3 * times.socketTimeout)
    t.strictSame(await reply, { ok: true, value: 'PONG' })
  }
  t.equal(lost, 0, 'the connection is still the first one')
  t.strictSame(steps, ['done', 'done', 'done'])
})
