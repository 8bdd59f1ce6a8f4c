/** Which fetch lock a miss takes: one in the memory of a replica that is alone at its Redis, otherwise one in Redis. */
import { redisKeys } from '../../replicas/options.ts'
import type { RedisReplica } from '../../replicas/replica.ts'
import type { CacheStore } from './contract.ts'
import type { LocalTier } from './local-tier.ts'
import { fetchLockName, isLockBesideEntry } from './lock-names.ts'
import type { Locks } from './locks.ts'
import { MemoryLocks } from './memory-locks.ts'

/** A miss that is older is looked up again under its fetch lock. */
const MAX_LOOKUP_AGE_MS = 100

/** A replica that registers while another one fetches without a shared lock may fetch the same: the price of its start. */
export function createFetchLocks(
  { elapsed }: Pick<RedisReplica, 'elapsed'>,
  shared: Locks,
  local: LocalTier,
): CacheStore['acquireFetchLock'] {
  const own = new MemoryLocks()
  return (key, epochs, lease, presence) => {
    const isRecent = elapsed() - (epochs.readAt ?? Number.NEGATIVE_INFINITY) < MAX_LOOKUP_AGE_MS
    if (isRecent && epochs.isAlone) {
      const lock = own.acquire(`${key} ${epochs.generation} ${epochs.epochs.join(' ')}`, presence)
      return lock.held ? { isMissing: local.entryOf(key) === undefined, ...lock } : lock
    }
    const entry = isRecent && isLockBesideEntry(key) ? redisKeys.entry(key) : undefined
    return shared.acquire(fetchLockName(key, epochs), lease, { entry, presence })
  }
}
