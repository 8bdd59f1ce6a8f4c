/** Calls to one node over the last minutes. */
import { Histogram } from './histogram.ts'

/** Minutes that the figures of a node look back. */
const LOOK_BACK = 5
const MINUTE = 60_000

export interface NodeTraffic {
  readonly calls: number
  readonly errors: number
  readonly p50: number | undefined
  readonly p99: number | undefined
}

export function nodeWindow() {
  const minutes = Array.from({ length: LOOK_BACK + 1 }, () => ({ at: -1, calls: 0, errors: 0, times: new Histogram() }))
  return {
    add(now: number, ms: number, failed: boolean): void {
      const at = Math.floor(now / MINUTE)
      const minute = minutes[at % minutes.length]
      if (minute === undefined) return
      if (minute.at !== at) {
        minute.times.clear()
        Object.assign(minute, { at, calls: 0, errors: 0 })
      }
      minute.calls += 1
      minute.errors += failed ? 1 : 0
      minute.times.add(ms)
    },
    read(now: number): NodeTraffic {
      const from = Math.floor(now / MINUTE) - LOOK_BACK
      const times = new Histogram()
      const sum = { calls: 0, errors: 0 }
      for (const minute of minutes) {
        if (minute.at < from) continue
        times.merge(minute.times)
        sum.calls += minute.calls
        sum.errors += minute.errors
      }
      return { ...sum, p50: times.quantile(0.5), p99: times.quantile(0.99) }
    },
  }
}
