/** What replicas share of access: who failed to log in, what was revoked, who asked how often. */
import type { Attempts } from '../auth/attempts.ts'
import { type Clock, systemClock } from '../auth/clock.ts'
import type { Log } from '../auth/log.ts'
import type { Revocations } from '../auth/revocations.ts'
import { sharedAttempts } from './shared-attempts.ts'
import { type CountShared, sharedCounts } from './shared-counts.ts'
import { createPulse, type Heard, type Pulse } from './shared-pulse.ts'
import { sharedRevocations } from './shared-revocations.ts'
import { digestWith, type SharedClient } from './shared-script.ts'

export interface SharedAccessOptions {
  /** Without an offline queue and with a command time-out, so that Redis away is known in milliseconds; stays the caller's to end. */
  readonly client: SharedClient
  /** `access.limits.failedLogins`, over all replicas. */
  readonly failures: number
  /** Keys the digests of names and addresses; the same on all replicas. */
  readonly key?: Buffer
  readonly clock?: Clock
  readonly log: Log
}

export interface SharedAccess {
  readonly attempts: Attempts
  readonly revocations: Revocations
  readonly count: CountShared
  /** Replicas that share, this one among them, when Redis was last heard. */
  replicas(): number
  /** Did Redis not answer the last time? */
  away(): boolean
  /** Resolves when everything that was revoked is known here, or when Redis is away. */
  start(): Promise<void>
  stop(): Promise<void>
}

/** Begins with `start`. Nothing of it rejects: while Redis is away each replica decides by itself, and tells later. */
export function createSharedAccess(options: SharedAccessOptions): SharedAccess {
  const { client, failures, clock = systemClock, log } = options
  const digest = digestWith(options.key)
  const untold = (revocations: number) =>
    log('warn', 'other replicas do not know of revoked tokens yet: Redis is away', { revocations })
  const revocations = sharedRevocations(client, clock, untold)
  const pulse: Pulse = createPulse(client, (heard: Heard) => {
    attempts.hear(heard)
    return revocations.hear(heard)
  })
  const attempts = sharedAttempts({ client, failures, digest, pulse, clock })
  const count = sharedCounts({ client, digest, pulse, elapsed: () => clock.elapsed() })
  return { attempts, revocations, count, ...pulse }
}
