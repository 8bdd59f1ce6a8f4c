/** The log lines of a read-only trial (`cache.trial`). */
import type { Logger } from 'pino'
import type { CacheEvent } from '../core/events.ts'

/** Logs that the trial is on, and returns the listener that logs each response of the cache that would have differed. */
export function createTrialLog(log: Logger): (event: CacheEvent) => void {
  log.warn('read-only trial: the manager answers every read, and writes are rejected')
  return (event) => {
    if (event.kind !== 'trial' || event.difference === undefined) return
    const { requestId: reqId, route, group, cache, difference } = event
    log.info({ reqId, route, group, cache, difference }, 'trial: responses differ')
  }
}
