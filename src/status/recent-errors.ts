/** The errors with a 5xx status that the edge itself has returned lately, by code. There are as many as the error table has. */
import type { EventListeners } from '../core/events.ts'
import { systemClock } from '../core/timing.ts'

export interface RecentErrors extends Required<Pick<EventListeners, 'request'>> {
  /** Returns each code with the milliseconds since it was last returned, in the order of the codes. */
  all(): readonly { readonly code: number; readonly ago: number }[]
}

export function createRecentErrors(): RecentErrors {
  const latest = new Map<number, number>()
  return {
    request: ({ status, errorCode, endedAt }) => {
      if (status >= 500 && errorCode !== undefined) latest.set(errorCode, endedAt)
    },
    all: () => [...latest].sort(([a], [b]) => a - b).map(([code, at]) => ({ code, ago: systemClock.elapsed() - at })),
  }
}
