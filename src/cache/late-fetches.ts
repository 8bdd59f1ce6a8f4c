/**
 * Fetches that take longer than they usually do. A node that hangs is found by probes after several seconds; until then,
 * stored responses are served stale instead of waiting for a call that most likely fails. A node may also be slow only:
 * its calls go on, and the first response ends this.
 */
import { removeFrom } from '../core/in-flight-list.ts'
import type { Lookup } from '../core/stored-response.ts'

interface NodeFetches {
  /** When each began, and the milliseconds after which it is late. */
  readonly inFlight: { readonly start: number; readonly late: number }[]
  lastResponse: number
}

/** The fetches in flight, by the node that is asked first, or by the key of the response if that node is not known. */
export class LateFetches {
  readonly #clock: () => number
  readonly #nodes = new Map<string, NodeFetches>()

  /** `clock`: monotonic milliseconds. */
  constructor(clock: () => number) {
    this.#clock = clock
  }

  /** Notes a fetch that begins and is late after this time. Returns the function to call at its end. */
  begin(node: string, late: number): (hasResponse: boolean) => void {
    const fetch = { start: this.#clock(), late }
    const fetches = this.#nodes.get(node) ?? { inFlight: [], lastResponse: Number.NEGATIVE_INFINITY }
    this.#nodes.set(node, fetches)
    fetches.inFlight.push(fetch)
    return (hasResponse) => {
      removeFrom(fetches.inFlight, fetch)
      if (hasResponse) fetches.lastResponse = this.#clock()
      if (fetches.inFlight.length === 0) this.#nodes.delete(node)
    }
  }

  /**
   * Whether a node leaves a fetch without a response for so long, and answers no other one meanwhile. `wait`: milliseconds
   * that fetches wait for the limit per minute of the node now, which is not late because of it.
   */
  isLate(node: string, wait: number): boolean {
    const fetches = this.#nodes.get(node)
    if (fetches === undefined) return false
    const now = this.#clock()
    for (const { start, late } of fetches.inFlight) {
      if (now - Math.max(start, fetches.lastResponse) >= late + wait) return true
    }
    return false
  }
}

/** A fetch is late after this many of its usual times, within these bounds in milliseconds. */
const LATE_FACTOR = 3
const MIN_LATE_MS = 250
const MAX_LATE_MS = 1500

/** Returns the milliseconds after which the fetch of a response is late. */
export function lateAfter(lookup: Lookup): number {
  const usual = lookup.kind === 'hit' ? lookup.response.fetchTime : MAX_LATE_MS
  return Math.min(MAX_LATE_MS, Math.max(MIN_LATE_MS, LATE_FACTOR * usual))
}
