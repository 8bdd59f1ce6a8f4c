import t, { type Test } from 'tap'
import { LoginAttempts } from '../../../src/access/login-attempts.ts'
import { createSharedAccess } from '../../../src/app/shared-access.ts'
import type { RedisConnectionOptions } from '../../../src/replicas/options.ts'
import { RedisReplica } from '../../../src/replicas/replica.ts'
import { eventually } from '../../support/eventually.ts'
import { startCluster, startSentinels } from '../../support/redis.ts'

const issuer = 'manager-edge'

async function replicaOf(t: Test, redis: RedisConnectionOptions) {
  const replica = new RedisReplica({ redis, times: { commandTimeout: 2000 } })
  const shared = createSharedAccess({ replica, log: () => {} })
  t.teardown(() => replica.close())
  await shared.revocations.start()
  const attempts = new LoginAttempts({ failedLogins: () => 2, counters: shared.counters })
  return { ...shared, attempts, contact: replica.contact, heartbeat: replica.heartbeat }
}

const token = { issuer, subject: 'bob', jti: 'one', issuedAt: Date.now() }

t.test('a Redis Cluster has the keys of each script on one node', async (t) => {
  const cluster = await startCluster()
  t.teardown(() => cluster.close())
  const place = { cluster: cluster.nodes.map(({ port }) => ({ host: '127.0.0.1', port })) }
  const [a, b] = [await replicaOf(t, place), await replicaOf(t, place)]
  for (const { contact } of [a, b]) t.equal(contact.lostAt, undefined)
  await a.revocations.revokeUpTo(issuer, 'bob', Date.now(), Date.now() + 60_000)
  await eventually(() => b.revocations.isRevoked(token))
  t.match(await a.attempts.count('10.0.0.1', 'bob'), { allowed: true })
  t.match(await b.attempts.count('10.0.0.1', 'bob'), { allowed: true })
  t.match(await a.attempts.count('10.0.0.1', 'bob'), { allowed: false })
  await eventually(() => a.heartbeat.replicas === 2)
  for (let turn = 0; turn < 10; turn++) a.count('caller', 'bob', 60_000, 10)
  await eventually(() => b.count('caller', 'bob', 60_000, 10).count > 10)
})

t.test('after a failover, replicas send the revocations again that the new primary lacks', async (t) => {
  const sentinels = await startSentinels()
  t.teardown(() => sentinels.close())
  const place = { sentinels: sentinels.sentinels, name: sentinels.name }
  const [a, b] = [await replicaOf(t, place), await replicaOf(t, place)]
  await a.revocations.revokeUpTo(issuer, 'bob', Date.now(), Date.now() + 60_000)
  await eventually(() => b.revocations.isRevoked(token))
  await sentinels.primary.kill()
  await sentinels.failedOver()
  const client = sentinels.replica.client()
  await client.del(...['revoked', 'facts', 'ends', 'born'].map((name) => `edge:{a}:${name}`))
  await eventually(async () => (await client.exists('edge:{a}:revoked')) === 1)
  const later = await replicaOf(t, place)
  await eventually(() => later.revocations.isRevoked(token))
})
