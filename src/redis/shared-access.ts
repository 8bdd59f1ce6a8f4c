/** What replicas share of access: who failed to log in, what was revoked, who asked how often. */
import type { LoginAttempts } from '../access/login-attempts.ts'
import type { Revocations } from '../access/revocations.ts'
import type { Log } from '../core/events.ts'
import { type Clock, systemClock } from '../core/timing.ts'
import { openClient, RedisConnection } from './connection.ts'
import { DEFAULT_TIMES, type RedisConnectionOptions, type RedisTimes } from './options.ts'
import { sharedAttempts } from './shared-attempts.ts'
import { type CountShared, sharedCounts } from './shared-counts.ts'
import { createPulse, type Heard, type Pulse } from './shared-pulse.ts'
import { sharedRevocations } from './shared-revocations.ts'
import { digestWith, scriptsOver } from './shared-script.ts'

export interface SharedAccessOptions {
  readonly redis: RedisConnectionOptions
  readonly times?: Partial<RedisTimes>
  /** `access.limits.failedLogins`, over all replicas. */
  readonly failures: number
  /** Keys the digests of names and addresses; the same on all replicas. */
  readonly key?: Buffer
  readonly clock?: Clock
  readonly log: Log
}

export interface SharedAccess {
  readonly attempts: LoginAttempts
  readonly revocations: Revocations
  readonly count: CountShared
  /** Replicas that share, this one among them, when Redis was last heard. */
  replicas(): number
  /** Did Redis not answer the last time? */
  away(): boolean
  /** Resolves when everything that was revoked is known here, or when Redis is away. */
  start(): Promise<void>
  stop(): void
}

/** Begins with `start`. Nothing of it rejects: while Redis is away each replica decides by itself, and tells later. */
export function createSharedAccess(options: SharedAccessOptions): SharedAccess {
  const { redis, failures, clock = systemClock, log } = options
  const times = { ...DEFAULT_TIMES, ...options.times }
  // A connection of its own: a burst of logins must not hold up epochs and heartbeats.
  let link: RedisConnection | undefined
  const prepare = scriptsOver(() => link, times.commandTimeout)
  const digest = digestWith(options.key)
  const untold = (revocations: number) =>
    log('warn', 'other replicas do not know of revoked tokens yet: Redis is away', { revocations })
  const revocations = sharedRevocations(prepare, clock, untold)
  const pulse: Pulse = createPulse({
    // Nobody waits for it, and what it hears may be long.
    prepare: scriptsOver(() => link, times.commandTimeout * 5),
    hear(heard: Heard) {
      attempts.hear(heard)
      return revocations.hear(heard)
    },
    reopen: () => link?.reconnect(),
  })
  const attempts = sharedAttempts({ prepare, failures, digest, pulse, clock })
  const count = sharedCounts({ prepare, digest, pulse, elapsed: () => clock.elapsed() })
  const opened = () =>
    new Promise<void>((resolve) => {
      link = new RedisConnection(openClient(redis, times))
      link.client.on('ready', pulse.doubt)
      link.client.once('ready', () => resolve())
      setTimeout(resolve, times.bulkTimeout).unref()
    })
  return {
    attempts,
    revocations,
    count,
    replicas: pulse.replicas,
    away: pulse.away,
    start: () => opened().then(pulse.start),
    stop() {
      pulse.stop()
      link?.close()
    },
  }
}
