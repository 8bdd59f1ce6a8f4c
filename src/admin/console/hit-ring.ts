/** The newest hits, which are too many for a record each. */
import type { RequestEvent } from '../../core/events.ts'

/** A request that has ended. `at`: milliseconds since 1970. `endedAt`: monotonic milliseconds. */
export interface FinishedRequest {
  readonly event: RequestEvent
  readonly at: number
  readonly endedAt: number
}

const MAX_HITS = 10_000

/** Adding a hit allocates nothing. */
export function createHitRing() {
  const events: (RequestEvent | undefined)[] = new Array(MAX_HITS).fill(undefined)
  const times = new Float64Array(MAX_HITS)
  const ends = new Float64Array(MAX_HITS)
  let next = 0
  /** Returns the hits since this time, newest first. */
  function* newest(oldestAt: number): Generator<FinishedRequest> {
    for (let step = 1; step <= MAX_HITS; step++) {
      const slot = (next - step + MAX_HITS) % MAX_HITS
      const [event, at = 0, endedAt = 0] = [events[slot], times[slot], ends[slot]]
      if (event === undefined || at < oldestAt) return
      yield { event, at, endedAt }
    }
  }
  return {
    newest,
    add(event: RequestEvent, at: number, endedAt: number): void {
      events[next] = event
      times[next] = at
      ends[next] = endedAt
      next = (next + 1) % MAX_HITS
    },
    find(id: string): FinishedRequest | undefined {
      for (const found of newest(0)) if (found.event.requestId === id) return found
      return undefined
    },
    /** Releases the hits from before this time. */
    forget(oldestAt: number): void {
      for (let slot = 0; slot < MAX_HITS; slot++) if ((times[slot] ?? 0) < oldestAt) events[slot] = undefined
    },
  }
}
