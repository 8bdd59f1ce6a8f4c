/** Requests of the last minutes that were served stale or failed, by second and caller. Normal traffic costs one comparison. */
import type { EventListeners } from '../../core/events.ts'
import { NOT_SIGNED_IN, OTHERS } from './caller-names.ts'
import type { AffectedCaller } from './incident-types.ts'

export interface AffectedCounts {
  readonly stale: number
  readonly failed: number
  /** The most affected callers first. */
  readonly callers: readonly AffectedCaller[]
}

type Count = { stale: number; failed: number }

const SECOND_MS = 1000
/** Seconds that are counted apart, so that an incident can begin in the past. */
const SLOTS = 120
/** Callers of one second, and of one incident. All others count together. */
const MAX_CALLERS = 200
const MAX_SHOWN = 5
/** Failures this long after each other belong together. */
const MAX_GAP_SECONDS = 5

interface Slot {
  readonly at: number
  readonly callers: Map<string, Count>
}

export class AffectedRequests {
  readonly #slots: (Slot | undefined)[] = new Array(SLOTS).fill(undefined)
  /** Since the begin of the incident in progress. */
  #total: { readonly since: number; readonly callers: Map<string, Count> } | undefined

  readonly listeners: Required<Pick<EventListeners, 'request'>> = {
    request: ({ at, cache, status, caller = NOT_SIGNED_IN }) => {
      const isFailed = status >= 500
      if (!isFailed && cache !== 'stale') return
      const second = Math.floor(at / SECOND_MS)
      const known = this.#slots[second % SLOTS]
      const slot = known?.at === second ? known : { at: second, callers: new Map<string, Count>() }
      this.#slots[second % SLOTS] = slot
      const added = { stale: isFailed ? 0 : 1, failed: isFailed ? 1 : 0 }
      add(slot.callers, caller, added)
      if (this.#total !== undefined && at >= this.#total.since) add(this.#total.callers, caller, added)
    },
  }

  /**
   * Begins to count for an incident. Requests may have failed before the edge found its cause: returns the begin of these
   * failures, or `seenAt`.
   */
  begin(seenAt: number): number {
    const seen = Math.floor(seenAt / SECOND_MS)
    const failedIn = (second: number): boolean => {
      const slot = this.#slots[second % SLOTS]
      return slot?.at === second && [...slot.callers.values()].some(({ failed }) => failed > 0)
    }
    let first = seen
    for (let second = seen; first - second <= MAX_GAP_SECONDS && seen - second < SLOTS; second -= 1)
      if (failedIn(second)) first = second
    const since = first === seen ? seenAt : first * SECOND_MS
    const callers = new Map<string, Count>()
    for (const slot of this.#slots) {
      if (slot === undefined || slot.at < Math.floor(since / SECOND_MS)) continue
      for (const [name, count] of slot.callers) add(callers, name, count)
    }
    this.#total = { since, callers }
    return since
  }

  read(): AffectedCounts {
    const callers = [...(this.#total?.callers ?? [])].map(([name, count]) => ({ name, ...count }))
    return countsOf(callers)
  }

  end(): void {
    this.#total = undefined
  }
}

function add(counts: Map<string, Count>, name: string, { stale, failed }: Count): void {
  const key = counts.has(name) || counts.size < MAX_CALLERS ? name : OTHERS
  const known = counts.get(key)
  if (known === undefined) counts.set(key, { stale, failed })
  else {
    known.stale += stale
    known.failed += failed
  }
}

/** Returns the sums of all callers, and the most affected ones. A name may occur several times. */
export function countsOf(all: readonly AffectedCaller[]): AffectedCounts {
  const sums = new Map<string, Count>()
  for (const { name, ...count } of all) add(sums, name, count)
  const callers = [...sums].map(([name, count]) => ({ name, ...count }))
  return {
    stale: callers.reduce((sum, { stale }) => sum + stale, 0),
    failed: callers.reduce((sum, { failed }) => sum + failed, 0),
    callers: callers.sort((a, b) => b.failed + b.stale - a.failed - a.stale).slice(0, MAX_SHOWN),
  }
}
