import { once } from 'node:events'
import { resolve } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { Redis } from 'ioredis'
import t from 'tap'
import { openClient } from '../../../src/redis/connection.ts'
import { DEFAULT_TIMES } from '../../../src/redis/options.ts'
import { freePort, startRedis } from '../../support/redis.ts'

t.test('a socket whose certificate was refused may fail once more, and the process goes on', async (t) => {
  const port = String(await freePort())
  const pair = resolve('test/support/certificates/first')
  const files = ['--tls-cert-file', `${pair}.crt`, '--tls-key-file', `${pair}.key`, '--tls-auth-clients', 'no']
  const redis = await startRedis({ args: ['--tls-port', port, ...files] })
  t.teardown(() => redis.close())
  const client = openClient({ url: `rediss://127.0.0.1:${port}`, tls: {} }, { ...DEFAULT_TIMES, retryInterval: 10_000 })
  t.teardown(() => client.disconnect())
  const refusal = new Promise<Error>((heard) => client.once('error', heard))
  t.match(await refusal, { message: /certificate/ })
  if (!(client instanceof Redis)) return t.fail('a single server')
  await turn()
  // The alert of the server, which arrives now and then after that (ERR_SSL_TLSV1_ALERT_DECODE_ERROR).
  client.stream.emit('error', new Error('alert'))
  client.disconnect()
  if (client.status !== 'end') await once(client, 'end')
})
