/** A connection to a Redis Cluster that is closed while it asks which master has which slots leaves nothing behind. */
import t from 'tap'
import { RedisConnection } from '../../../src/replicas/connection.ts'
import { DEFAULT_TIMES } from '../../../src/replicas/options.ts'
import { eventually } from '../../support/eventually.ts'
import { startCluster } from '../../support/redis.ts'

const count = (type: string) => process.getActiveResourcesInfo().filter((each) => each === type).length

t.test('no timer keeps the process alive', async (t) => {
  const redis = await startCluster(3)
  t.teardown(() => redis.close())
  const cluster = redis.nodes.map(({ port }) => ({ host: '127.0.0.1', port }))
  const timers = count('Timeout')
  const connection = new RedisConnection({ cluster }, { ...DEFAULT_TIMES, commandTimeout: 1000, socketTimeout: 60_000 })
  connection.open()
  await connection.waitUntilReady(30_000)
  t.ok(connection.isReady)
  for (const node of redis.nodes) node.pause()
  const connections = count('TCPSocketWrap')
  await eventually(() => count('TCPSocketWrap') > connections)
  connection.close()
  for (const node of redis.nodes) node.resume()
  await eventually(() => count('TCPSocketWrap') < connections)
  await eventually(() => count('Timeout') <= timers)
  t.ok(count('Timeout') <= timers, 'all timers have ended')
})
