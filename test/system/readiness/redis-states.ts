/** Each state in which a real Redis does not work: nothing stale, said in words everywhere, and over without a restart. */
import { join } from 'node:path'
import type { Redis } from 'ioredis'
import type { Test } from 'tap'
import { checkRedis } from '../../../src/cli/check.ts'
import { loadConfig } from '../../../src/config/index.ts'
import { type FaultProxy, startFaultProxy } from '../../faults/proxy.ts'
import { eventually } from '../../support/eventually.ts'
import { type RedisServer, startRedis } from '../../support/redis.ts'
import { simulated } from '../../support/simulated.ts'

interface Place {
  readonly redis: RedisServer
  readonly admin: Redis
  readonly proxy: FaultProxy
  /** Another server, of which `redis` may become a replica. */
  readonly primary: RedisServer
}

export interface State {
  readonly name: string
  begin(place: Place): Promise<unknown>
  end(place: Place): Promise<unknown>
  readonly reason: 'redisUnreachable' | 'redisSlow' | 'redisFull'
  /** Of the log, of `/readyz?verbose` and of `check --connect`. */
  readonly words: RegExp
  /** What `check --connect` reports; absent: the same words. */
  readonly checked?: RegExp
}

export const states: readonly State[] = [
  {
    name: 'the password of Redis was changed',
    // A connection that is open before stays authenticated: that of this test.
    async begin({ admin }) {
      await admin.config('SET', 'requirepass', 'another')
      for (const type of ['pubsub', 'normal']) await admin.call('CLIENT', 'KILL', 'TYPE', type)
    },
    end: ({ admin }) => admin.config('SET', 'requirepass', ''),
    reason: 'redisUnreachable',
    words: /Redis rejects the user or the password; correct cache\.redis\.username/,
  },
  {
    name: 'after a fail-over, Redis is a read-only replica',
    begin: ({ admin, primary }) => admin.replicaof('127.0.0.1', primary.port),
    end: ({ admin }) => admin.call('REPLICAOF', 'NO', 'ONE'),
    reason: 'redisUnreachable',
    words: /Redis is a read-only replica, as after a fail-over; name the sentinels/,
  },
  {
    name: 'Redis has too few replicas',
    begin: ({ admin }) => admin.config('SET', 'min-replicas-to-write', '1'),
    end: ({ admin }) => admin.config('SET', 'min-replicas-to-write', '0'),
    reason: 'redisUnreachable',
    words: /too few replicas; check its replicas/,
    checked: /^undefined$/,
  },
  {
    name: 'Redis is loading its data',
    async begin({ redis, admin: client }) {
      await client.mset(Object.fromEntries(Array.from({ length: 3000 }, (_, at) => [`other:${at}`, 'x'.repeat(100)])))
      await client.save()
      // Resolves after the loading.
      void redis.restart()
    },
    end: async ({ admin: client }) => {
      await eventually(async () => (await client.ping().catch(() => '')) === 'PONG')
      await client.flushall()
      await client.save()
    },
    reason: 'redisUnreachable',
    words: /Redis is loading its data, or accepts connections and does not reply; wait/,
  },
  {
    name: 'Redis does not run',
    begin: ({ redis }) => redis.kill(),
    end: ({ redis }) => redis.restart(),
    reason: 'redisUnreachable',
    words: /Redis cannot be reached; check that it runs/,
  },
  {
    name: 'Redis is slow',
    begin: ({ proxy }) => proxy.set({ kind: 'link', toTarget: { delay: 600 }, toClient: { delay: 600 } }),
    end: ({ proxy }) => proxy.set({ kind: 'pass' }),
    reason: 'redisSlow',
    words: /Redis replies later than reads wait; check the network/,
    checked: /later than reads wait|does not reply/,
  },
  {
    name: 'Redis is out of memory',
    begin: ({ admin }) => admin.config('SET', 'maxmemory', '1'),
    end: ({ admin }) => admin.config('SET', 'maxmemory', '0'),
    reason: 'redisFull',
    words: /Redis is out of memory; raise maxmemory/,
  },
]

/** While Redis does not work, nothing is stale, and each place says what is wrong and what to do. */
export async function checkStates(t: Test, states: readonly State[]): Promise<void> {
  const loadSlowly = ['--key-load-delay', '2000', '--loading-process-events-interval-bytes', '1024']
  const [redis, primary] = await Promise.all([startRedis({ args: loadSlowly }), startRedis()])
  const proxy = await startFaultProxy(redis.port)
  t.teardown(() => Promise.all([proxy.close(), redis.close(), primary.close()]))
  const place = { redis, admin: redis.client(), proxy, primary }
  const settings = { cache: { redis: { url: `redis://127.0.0.1:${proxy.port}`, timeout: '500ms' } } }
  const { edge } = await simulated(t, { workers: 0, agents: 3 }, { settings })
  const headers = { authorization: edge.authorization('admin') }
  const loaded = await loadConfig({ file: join(edge.folder, 'edge.yaml'), env: {} })
  if (!loaded.ok) throw new Error(loaded.faults.join('\n'))

  const ready = async () => {
    const response = await fetch(`${edge.operationsUrl}/readyz?verbose`)
    t.equal(response.status, 200, 'a replica without Redis is ready')
    return (await response.json()) as { degraded: { reason: string; detail: string }[] }
  }
  const metrics = async () => (await fetch(`${edge.operationsUrl}/metrics`, { headers })).text()
  let written = 0
  /** Creates a group and reads the groups. The read has the group if the write was acknowledged. */
  const writeAndRead = async () => {
    written += 1
    const name = `group-${written}`
    const put = await fetch(`${edge.url}/agents/groups/${name}`, { method: 'PUT', headers })
    const { error } = (await put.json()) as { error: number }
    const groups = await fetch(`${edge.url}/agents/groups`, { headers })
    t.equal(groups.status, 200, 'no read fails')
    t.ok(error === 0 || error === 930, `the write is acknowledged or not sent: ${error}`)
    t.equal((await groups.text()).includes(`"${name}"`), error === 0, `${name}: ${error}`)
    return error
  }

  for (const { name, begin, end, reason, words, checked } of states) {
    await t.test(name, async (t) => {
      const before = edge.logged.length
      await begin(place)
      await eventually(async () => {
        await writeAndRead()
        return (await ready()).degraded.some((each) => each.reason === reason && words.test(each.detail))
      })
      t.notMatch(JSON.stringify(await ready()), /127\.0\.0\.1/, 'no addresses: the probe needs no sign-in')
      t.ok(
        edge.logged.slice(before).some((line) => words.test(line)),
        'the log',
      )
      t.match(await metrics(), new RegExp(`^edge_degraded\\{reason="${reason}"\\} 1$`, 'm'))
      let reported = ''
      // On busy cores the check may not connect in its half second.
      await eventually(async () => {
        const check = await checkRedis(loaded.config.cache.redis)
        reported = String(check?.ok === false ? check.reason : undefined)
        return (checked ?? words).test(reported)
      }).catch(() => undefined)
      t.match(reported, checked ?? words, 'check --connect')
      await end(place)
      await eventually(async () => (await writeAndRead()) === 0)
    })
  }
  await eventually(async () => (await ready()).degraded.every(({ reason }) => reason === 'redisFull'))
}
