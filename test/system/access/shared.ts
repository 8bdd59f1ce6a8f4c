/** Replicas of the small edge that share one real Redis. */
import type { Test } from 'tap'
import type { AccessOptions } from '../../../src/access/access.ts'
import { createKeyFile } from '../../../src/access/signing-keys.ts'
import { createSharedAccess, type SharedAccess } from '../../../src/app/shared-access.ts'
import { RedisReplica } from '../../../src/replicas/replica.ts'
import { type RedisServer, startRedis } from '../../support/redis.ts'
import { type Edge, folder, startEdge, usersFile } from './edge.ts'

export interface Replicas {
  readonly redis: RedisServer
  readonly users: string
  /** Starts one more replica. It is connected when the promise resolves. */
  start(
    settings?: Partial<AccessOptions> & { readonly costs?: boolean },
  ): Promise<Edge & { readonly shared: SharedAccess; readonly replica: RedisReplica }>
}

/** `failures`: failed logins of one name from one address, over all replicas. */
export async function replicas(t: Test, { failures = 5 } = {}): Promise<Replicas> {
  const redis = await startRedis()
  t.teardown(() => redis.close())
  const users = await usersFile(t)
  const keys = await folder(t)
  await createKeyFile(keys, () => new Date('2026-01-01'))
  const tokens = { lifetime: () => 900, issuers: [], keys }
  const failedLogins = () => failures
  return {
    redis,
    users,
    async start(settings = {}) {
      const logged: string[] = []
      // A long timeout, because other tests keep the machine busy.
      const replica = new RedisReplica({ redis: { url: redis.url }, times: { commandTimeout: 2000 } })
      const shared = createSharedAccess({
        replica,
        log: (_level, message) => logged.push(message),
      })
      await shared.revocations.start()
      t.teardown(() => replica.close())
      const { counters, revocations, count } = shared
      const parts = { users: { file: users }, tokens, counters, revocations, count, limits: { failedLogins } }
      const edge = await startEdge(t, { ...parts, ...settings })
      return { ...edge, logged, shared, replica }
    },
  }
}
