/** The errors with a 5xx status that the edge itself has returned lately, by code. There are as many as the error table has. */
import type { RequestEvent } from '../core/events.ts'
import { systemClock } from '../core/timing.ts'

export type RecentErrors = ReturnType<typeof createRecentErrors>

export function createRecentErrors() {
  const latest = new Map<number, number>()
  return {
    request: ({ status, errorCode, endedAt }: RequestEvent): void => {
      if (status >= 500 && errorCode !== undefined) latest.set(errorCode, endedAt)
    },
    /** Returns each code with the milliseconds since it was last returned, in the order of the codes. */
    all: () => [...latest].sort(([a], [b]) => a - b).map(([code, at]) => ({ code, ago: systemClock.elapsed() - at })),
  }
}
