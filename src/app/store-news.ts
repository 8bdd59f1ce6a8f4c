/** What the cache's store last said of itself, for those who look after it. */
import type { StoreEvent } from '../cache/stores/redis/index.ts'

export interface StoreNews {
  heard(event: StoreEvent, reason?: string): void
  standing(): {
    /** Redis does not answer. */
    readonly away: boolean
    readonly lastEvent?: { readonly event: StoreEvent; readonly reason?: string; readonly ago: number }
  }
}

export function createStoreNews(): StoreNews {
  let away = false
  let last: { readonly event: StoreEvent; readonly reason?: string; readonly at: number } | undefined
  return {
    heard(event, reason) {
      if (event === 'lost') away = true
      if (event === 'returned') away = false
      last = { event, ...(reason !== undefined && { reason }), at: performance.now() }
    },
    standing() {
      if (last === undefined) return { away }
      const { at, ...said } = last
      return { away, lastEvent: { ...said, ago: Math.round(performance.now() - at) } }
    },
  }
}
