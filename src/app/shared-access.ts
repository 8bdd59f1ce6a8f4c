/** What replicas share for access and for calls to nodes. */
import { hash } from 'node:crypto'
import type { Log } from '../core/events.ts'
import { systemClock } from '../core/timing.ts'
import { SharedRequestCounts } from '../http/request-counts.ts'
import type { RedisReplica } from '../replicas/replica.ts'
import { SharedCounters } from '../replicas/shared-counters.ts'
import { createSharedRevocations } from '../replicas/shared-revocations.ts'

/** What replicas share for access and for calls to nodes. */
export type SharedAccess = ReturnType<typeof createSharedAccess>

/** Must be called before the replica starts. */
export function createSharedAccess({
  replica,
  encryptionKey,
  log,
}: {
  readonly replica: RedisReplica
  readonly encryptionKey?: Buffer | undefined
  readonly log: Log
}) {
  const counters = new SharedCounters(replica, encryptionKey && hash('sha256', encryptionKey, 'buffer'))
  const revocations = createSharedRevocations({ replica, clock: systemClock, log })
  return { counters, count: new SharedRequestCounts(counters).count, revocations }
}
