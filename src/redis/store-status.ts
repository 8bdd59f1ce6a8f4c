/** What is wrong with Redis, as the log, the probes and the console show it. */
import type { RedisFault } from '../core/cache-index.ts'
import { describeFailure, explainFailure } from './failures.ts'
import type { HeartbeatFailure } from './heartbeat.ts'
import type { StoreEvent } from './options.ts'

/** Whether reads use Redis, and the last event of the cache store. */
export type StoreStatus = ReturnType<typeof createStoreStatus>

/** Redis counts as full this long after it has refused to store a response. */
const FULL_MS = 60_000

/** `failure` returns why reads do not use Redis, `wrongTypeKeys` the keys that another program has replaced. */
export function createStoreStatus(
  failure: () => HeartbeatFailure | undefined,
  wrongTypeKeys: () => readonly string[] = () => [],
) {
  let unreachable = false
  let fullAt = Number.NEGATIVE_INFINITY
  let last: { readonly event: StoreEvent; readonly reason?: string; readonly at: number } | undefined
  return {
    /** `error`: of Redis, or of the connection to it. Returns it in words. */
    record(event: StoreEvent, error?: string): string | undefined {
      const at = performance.now()
      if (event === 'unreachable' || event === 'slow') unreachable = true
      if (event === 'reachable') unreachable = false
      if (event === 'full') fullAt = at
      const isKey = event === 'repaired' || event === 'wrongType'
      const reason = isKey ? error : error && describeFailure(error)
      last = { event, ...(reason !== undefined && { reason }), at }
      return reason
    },
    /** `unreachable`: reads do not use Redis. `faults`: what is wrong now, and what to do. `ago`: milliseconds since the event. */
    current() {
      const isFull = performance.now() - fullAt < FULL_MS
      const faults = [
        ...(unreachable ? [outageOf(failure())] : []),
        ...(isFull ? [faultOf('redisFull', 'OOM')] : []),
        ...wrongTypesOf(wrongTypeKeys()),
      ]
      if (last === undefined) return { unreachable, faults }
      const { at, ...lastEvent } = last
      return { unreachable, faults, lastEvent: { ...lastEvent, ago: Math.round(performance.now() - at) } }
    },
  }
}

function wrongTypesOf(keys: readonly string[]): RedisFault[] {
  if (keys.length === 0) return []
  const detail = `keys in Redis that another program has replaced: ${keys.join(', ')}; delete them with UNLINK, and let only the edge write keys under edge:`
  return [{ reason: 'redisWrongType', detail }]
}

function outageOf(failure: HeartbeatFailure | undefined): RedisFault {
  if (failure === undefined) return { reason: 'redisUnreachable', detail: 'invalidations are being sent to Redis' }
  return faultOf(failure.outage === 'slow' ? 'redisSlow' : 'redisUnreachable', failure.error)
}

function faultOf(reason: RedisFault['reason'], error: string): RedisFault {
  const { cause, remedy } = explainFailure(error)
  return { reason, detail: `${cause}; ${remedy}` }
}
