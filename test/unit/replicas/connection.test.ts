import { once } from 'node:events'
import { resolve } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { Redis } from 'ioredis'
import t from 'tap'
import { freePort } from '../../../packages/simulator/src/free-port.ts'
import { RedisConnection } from '../../../src/replicas/connection.ts'
import { DEFAULT_TIMES } from '../../../src/replicas/options.ts'
import { startRedis } from '../../support/redis.ts'

const times = { ...DEFAULT_TIMES, commandTimeout: 50 }

t.test('a second error of a socket whose certificate was rejected does not end the process', async (t) => {
  const port = String(await freePort())
  const pair = resolve('test/support/certificates/first')
  const files = ['--tls-cert-file', `${pair}.crt`, '--tls-key-file', `${pair}.key`, '--tls-auth-clients', 'no']
  const redis = await startRedis({ args: ['--tls-port', port, ...files] })
  t.teardown(() => redis.close())
  const slowRetry = { ...times, retryInterval: 10_000 }
  const connection = new RedisConnection({ url: `rediss://127.0.0.1:${port}`, tls: {} }, slowRetry)
  const { client } = connection
  t.teardown(() => connection.close())
  const firstError = new Promise<Error>((resolve) => client.once('error', resolve))
  connection.open()
  t.match(await firstError, { message: /certificate/ })
  if (!(client instanceof Redis)) return t.fail('a single server')
  await nextTurn()
  // The alert of the server sometimes arrives after that (ERR_SSL_TLSV1_ALERT_DECODE_ERROR).
  client.stream.emit('error', new Error('alert'))
  client.disconnect()
  if (client.status !== 'end') await once(client, 'end')
})

t.test('without a connection, a command fails at once with the last error', async (t) => {
  const steps: string[] = []
  const url = `redis://127.0.0.1:${await freePort()}`
  const connection = new RedisConnection({ url }, times, ({ outcome }) => steps.push(outcome))
  t.teardown(() => connection.close())
  t.strictSame(await connection.send(1000, (client) => client.ping()), { ok: false, error: 'not connected' })
  const failed = new Promise((resolve) => connection.client.once('error', resolve))
  connection.open()
  await failed
  t.match(await connection.send(1000, (client) => client.ping()), { ok: false, error: /ECONNREFUSED/ })
  t.strictSame(steps, ['unreachable', 'unreachable'])
})

t.test('a command that takes too long ends with its time limit, and a script is sent again by its text', async (t) => {
  const redis = await startRedis()
  const connection = new RedisConnection({ url: redis.url }, times)
  t.teardown(async () => {
    redis.resume()
    connection.close()
    await redis.close()
  })
  connection.open()
  await connection.waitUntilReady(5000)
  const script = { lua: 'return ARGV[1]', sha: '098e0f0d1448c0a81dafe820f66d460eb09263da' }
  t.strictSame(await connection.runScript(script, [], ['x'], 5000), { ok: true, value: 'x' })
  redis.pause()
  t.strictSame(await connection.send(20, (client) => client.ping()), { ok: false, error: 'timed out' })
})

t.test('ioredis does not subscribe again on its own, since nothing would handle its rejection', async (t) => {
  const connection = new RedisConnection({ url: 'redis://127.0.0.1:1' }, times)
  t.match(connection.client.options, { autoResubscribe: false })
  const cluster = new RedisConnection({ cluster: [{ host: '127.0.0.1', port: 1 }] }, times)
  t.match(cluster.client.options, { redisOptions: { autoResubscribe: false } })
})
