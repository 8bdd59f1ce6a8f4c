/** Another program has written to the key of the slots, so the script that distributes them fails each time. */
import t from 'tap'
import { redisKeys } from '../../../src/replicas/options.ts'
import { eventually } from '../../support/eventually.ts'
import { startRedis } from '../../support/redis.ts'
import { NODE, startSlotReplica } from './slot-replica.ts'

/** Round trips to Redis in which a replica that repeats the script without a pause runs it many times. */
const ROUND_TRIPS = 300
/** The first heartbeats, the failing script, and the heartbeat that confirms that Redis is reachable. */
const MAX_SCRIPTS = 10

t.test('a replica whose slots cannot be read does not send heartbeats without a pause', async (t) => {
  const redis = await startRedis()
  t.teardown(() => redis.close())
  const client = redis.client()
  await client.hset(redisKeys.slots(NODE), 'a', 'b')
  const times = { heartbeatInterval: 300_000, lease: 600_000 }
  const load = { inFlight: 0, most: 0 }
  const one = await startSlotReplica({ url: redis.url, limit: () => 4, load, times })
  t.teardown(() => one.close())
  one.call(10, () => 1)
  await eventually(() => one.finished === 10)
  for (let each = 0; each < ROUND_TRIPS; each += 1) await client.ping()
  const scripts = /cmdstat_evalsha:calls=(\d+)/.exec(await client.info('commandstats'))?.[1]
  t.ok(Number(scripts) <= MAX_SCRIPTS, `${scripts} scripts`)
  t.ok(load.most <= 4, 'its share is the limit of one replica')
})
