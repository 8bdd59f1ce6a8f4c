/** A rate limit for the costliest caller, computed from what was observed. The setting applies to each caller alike. */
import type { CostReport, Costs } from './cost-types.ts'

/** No limit is proposed for a caller with a smaller share of the node time. */
const MIN_SHARE = 0.25
/** What the costliest caller needs on average, and the busiest second of the others, get this much room. */
const MEAN_ROOM = 1.5
const PEAK_ROOM = 1.2

/**
 * `limit`: the setting `access.limits.requestsPerSecond` now. `peakWithout` returns what every other caller sends in its
 * busiest second at most.
 */
export function proposeLimit(
  { seconds, total, callers }: Omit<CostReport, 'endpoints'>,
  limit: number,
  peakWithout: (caller: string) => number,
): Pick<Costs, 'proposal' | 'advice'> {
  const costliest = callers.find((row) => row.caller !== null)
  if (costliest === undefined || costliest.caller === null || costliest.calls === 0)
    return { advice: 'No caller has caused calls to nodes.' }
  const { caller, limited, peak, nodeTime } = costliest
  const share = nodeTime / Math.max(1, total.nodeTime)
  const cost = `${caller} causes ${percent(share)} of the node time`
  if (share < MIN_SHARE)
    return { advice: `${cost}. No caller causes ${percent(MIN_SHARE)} or more, so no limit is proposed.` }
  const mean = limited / seconds
  const otherPeak = peakWithout(caller)
  const others =
    otherPeak === 0 ? '; no other caller sends such requests' : `; every other caller sends ${otherPeak} at most`
  const rates = `It sends ${rate(mean)} requests per second that are no hits, and ${peak} in its busiest second${others}.`
  const proposed = Math.max(1, Math.ceil(MEAN_ROOM * mean), Math.ceil(PEAK_ROOM * otherPeak))
  if (proposed >= limit)
    return {
      advice: `${cost}. ${rates} access.limits.requestsPerSecond is ${limit}, and a lower limit would also hold back other callers or what this one always needs.`,
    }
  if (proposed >= peak)
    return {
      advice: `${cost}. ${rates} No limit would hold back this caller alone: make its reads hits instead, with a longer freshness lifetime (cache.ttl, cache.endpoints) or fewer different URLs.`,
    }
  return {
    proposal: {
      caller,
      requestsPerSecond: proposed,
      settings: `access:\n  limits:\n    requestsPerSecond: ${proposed}\n`,
    },
    advice: `${cost}. ${rates} A limit of ${proposed} spreads its bursts, leaves it half more than it needs on average, and holds back no other caller. Requests above it get 429 with Retry-After. The setting applies to each caller; today it is ${limit}.`,
  }
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`
}

function rate(value: number): string {
  return value < 10 ? value.toFixed(1) : String(Math.round(value))
}
