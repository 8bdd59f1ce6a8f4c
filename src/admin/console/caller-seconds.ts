/** How many requests each caller sent in each second of the last minutes, of those that a rate limit counts: all but hits. */
import type { RequestEvent } from '../../core/events.ts'
import { inTurns } from '../../core/turns.ts'
import { NOT_SIGNED_IN, shortenName } from './caller-names.ts'

const SECONDS = 600
/** Pairs of a caller and a second. Further ones are not counted. */
const MAX_PAIRS = 20_000
/** The busiest pairs, which are reported to other replicas. */
const MAX_REPORTED = 30
const MAX_NAME_CHARS = 40
const TOO_MANY_REQUESTS = 903

/** A caller, a second since 1970, and the number of requests. */
export type BusySecond = readonly [caller: string, second: number, requests: number]

export class CallerSeconds {
  readonly #seconds = new Map<number, Map<string, number>>()
  #pairs = 0

  readonly request = ({ at, cache, caller = NOT_SIGNED_IN, rejectedWith }: RequestEvent): void => {
    if (cache === 'hit' || cache === 'stale') return
    // A request over the limit counts against it too.
    if (rejectedWith !== undefined && rejectedWith !== TOO_MANY_REQUESTS) return
    const second = Math.floor(at / 1000)
    const callers = this.#callersOf(second)
    const count = callers.get(caller)
    if (count === undefined && this.#pairs >= MAX_PAIRS) return
    if (count === undefined) this.#pairs += 1
    callers.set(caller, (count ?? 0) + 1)
  }

  /** Returns all pairs. */
  read(now: number): readonly BusySecond[] {
    this.#forgetBefore(Math.floor(now / 1000) - SECONDS)
    return [...this.#seconds].flatMap(([second, callers]) =>
      [...callers].map(([caller, count]): BusySecond => [shortenName(caller, MAX_NAME_CHARS), second, count]),
    )
  }

  /** Returns the busiest pairs. Without sorting or copying all of them: a replica reports every two seconds. */
  report(now: number): readonly BusySecond[] {
    this.#forgetBefore(Math.floor(now / 1000) - SECONDS)
    const busiest: BusySecond[] = []
    for (const [second, callers] of this.#seconds)
      for (const [caller, count] of callers) {
        if (count <= (busiest[MAX_REPORTED - 1]?.[2] ?? 0)) continue
        const at = busiest.findIndex(([, , least]) => least < count)
        busiest.splice(at === -1 ? busiest.length : at, 0, [caller, second, count])
        busiest.length = Math.min(busiest.length, MAX_REPORTED)
      }
    return busiest.map(([caller, second, count]) => [shortenName(caller, MAX_NAME_CHARS), second, count])
  }

  #callersOf(second: number): Map<string, number> {
    const known = this.#seconds.get(second)
    if (known !== undefined) return known
    this.#forgetBefore(second - SECONDS)
    const callers = new Map<string, number>()
    this.#seconds.set(second, callers)
    return callers
  }

  #forgetBefore(oldest: number): void {
    for (const [second, callers] of this.#seconds) {
      if (second >= oldest) break
      this.#seconds.delete(second)
      this.#pairs -= callers.size
    }
  }
}

/**
 * Returns how many of the requests are over each of the limits. Replicas count a caller together, so their seconds are added.
 */
export async function countLimited(
  seconds: readonly BusySecond[],
  limits: readonly number[],
): Promise<readonly number[]> {
  const sums = new Map<number, Map<string, number>>()
  for await (const part of inTurns(seconds))
    for (const [caller, second, count] of part) {
      const callers = sums.get(second) ?? new Map<string, number>()
      sums.set(second, callers)
      callers.set(caller, (callers.get(caller) ?? 0) + count)
    }
  const limited = limits.map(() => 0)
  for (const callers of sums.values())
    for (const count of callers.values())
      for (const [at, limit] of limits.entries()) limited[at] = (limited[at] ?? 0) + Math.max(0, count - limit)
  return limited
}
