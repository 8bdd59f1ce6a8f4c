/** What replicas share through Redis: for access and for calls to nodes, and their reports to each other. */
import { hash } from 'node:crypto'
import type { Log } from '../core/events.ts'
import { systemClock } from '../core/timing.ts'
import { SharedRequestCounts } from '../http/request-counts.ts'
import type { RedisReplica } from '../replicas/replica.ts'
import { SharedCounters } from '../replicas/shared-counters.ts'
import { createSharedRevocations } from '../replicas/shared-revocations.ts'
import { Replicas } from '../status/replicas.ts'

/** `replica`: this one. `replicas`: what it and the others report. */
export type SharedAccess = ReturnType<typeof createSharedAccess>

interface SharedAccessOptions {
  readonly replica: RedisReplica
  readonly encryptionKey?: Buffer | undefined
  /** Milliseconds between two reports of a replica to the others. Absent: the usual ones. */
  readonly reportInterval?: number | undefined
  readonly log: Log
}

/** Must be called before the replica starts. */
export function createSharedAccess({ replica, encryptionKey, reportInterval, log }: SharedAccessOptions) {
  const counters = new SharedCounters(replica, encryptionKey && hash('sha256', encryptionKey, 'buffer'))
  const revocations = createSharedRevocations({ replica, clock: systemClock, log })
  const replicas = new Replicas((report) => replica.exchangeDescriptions(report), reportInterval)
  return { replica, replicas, counters, count: new SharedRequestCounts(counters).count, revocations }
}
