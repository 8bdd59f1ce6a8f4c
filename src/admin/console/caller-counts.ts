/**
 * The requests of the last minutes by caller: of each endpoint with the calls to nodes that they caused, and of each second
 * what was served stale and what failed. Bounded in size.
 */
import { type EventListeners, type NodeCallEvent, type RequestEvent, wasSent } from '../../core/events.ts'
import type { AffectedCaller } from './history-types.ts'
import type { CallerCost, CostCounts, EndpointCost } from './request-types.ts'

const MINUTE_MS = 60_000
const SECOND_MS = 1000
const MINUTES = 10
/** Pairs of a caller and an endpoint, and of a caller and a second, in one minute. Further ones count together. */
const MAX_PAIRS = 2000
const MAX_SECONDS = 5000
/** Callers of one incident that are counted apart. */
const MAX_AFFECTED = 200
/** Calls of requests in progress, and requests that have ended and may still cause calls. */
const MAX_REMEMBERED = 5000
/** Longer than a request may take. Later, no request claims the calls any more. */
const UNCLAIMED_AFTER_MS = 180_000
/** An incident begins at most this long before the edge finds its cause. */
const MAX_EARLIER_SECONDS = 120
/** Failures this long after each other belong together. */
const MAX_GAP_SECONDS = 5

/** The requests of all callers that were not authenticated. */
const NOT_SIGNED_IN = 'not signed in'
/** The callers, and the endpoints, above the number that is counted apart. */
const OTHERS = 'others'

type Counts = { -readonly [Name in keyof CostCounts]: number }
/** Names an endpoint. Its text is built once for each cell, since it would cost a hit more than the rest of the count. */
type Endpoint = Pick<RequestEvent, 'method' | 'route'>
/** The requests of a caller to an endpoint in one minute. */
interface Cell {
  readonly caller: CallerCell
  readonly method: string
  readonly endpoint: string
  readonly counts: Counts
}
type SecondCounts = Record<'stale' | 'failed', number>
interface CallerCell {
  /** The cells of each route: one for each method. */
  readonly routes: Map<string, Cell[]>
  /** By second since 1970. */
  readonly seconds: Map<number, SecondCounts>
}
interface Minute {
  readonly at: number
  readonly callers: Map<string | null, CallerCell>
  pairs: number
  seconds: number
}

export class CallerCounts implements Required<Pick<EventListeners, 'request' | 'nodeCall'>> {
  readonly #minutes: (Minute | undefined)[] = new Array(MINUTES + 1).fill(undefined)
  readonly #now: () => number
  readonly #startedAt: number
  /** Calls of requests that have not ended, oldest first. */
  readonly #pending = new Map<string, Endpoint & Pick<Counts, 'calls' | 'nodeTime'> & { readonly since: number }>()
  readonly #ended = new Map<string, Cell>()
  /** Of the incident in progress. */
  #affected: { readonly since: number; readonly callers: Map<string, AffectedCaller> } | undefined

  /** `now`: milliseconds since 1970. */
  constructor(now: () => number = Date.now) {
    this.#now = now
    this.#startedAt = now()
  }

  request(event: RequestEvent): void {
    const { at, requestId, cache, status, caller = NOT_SIGNED_IN } = event
    const minute = this.#minuteOf(at)
    const cell = cellOf(minute, caller, event)
    const isHit = cache === 'hit' || cache === 'stale'
    const isFailed = status >= 500
    cell.counts.requests += 1
    if (isHit) cell.counts.hits += 1
    if (cache === 'hit' && !isFailed) return
    if (isFailed || cache === 'stale') {
      const second = secondOf(minute, cell.caller, Math.floor(at / SECOND_MS))
      const stale = Number(!isFailed)
      second.stale += stale
      second.failed += 1 - stale
      if (this.#affected !== undefined && at >= this.#affected.since)
        addAffected(this.#affected.callers, { name: caller, stale, failed: 1 - stale })
    }
    if (cache === 'hit') return
    const caused = this.#pending.get(requestId)
    this.#pending.delete(requestId)
    if (caused !== undefined) addCalls(cell.counts, caused)
    this.#ended.set(requestId, cell)
    const [oldest] = this.#ended.keys()
    if (this.#ended.size > MAX_REMEMBERED && oldest !== undefined) this.#ended.delete(oldest)
  }

  /** Finds the request that caused a call: calls end before their request, and those of a refresh in the background after it. */
  nodeCall(call: NodeCallEvent): void {
    if (!wasSent(call)) return
    const { requestId, method, route, ms } = call
    const added = { calls: 1, nodeTime: ms }
    const counts = this.#ended.get(requestId)?.counts ?? this.#pending.get(requestId)
    if (counts !== undefined) addCalls(counts, added)
    else {
      this.#pending.set(requestId, { since: this.#now(), method, route, ...added })
      this.#giveUpOld()
    }
  }

  /** Returns the rows of the last minutes, a caller or a pair in each minute apart. `seconds`: the time that they cover. */
  rows(): { readonly seconds: number; readonly callers: CallerCost[]; readonly endpoints: EndpointCost[] } {
    this.#giveUpOld()
    const callers = this.#lastMinutes().flatMap((minute) => [...minute.callers])
    const covered = Math.min(this.#now() - this.#startedAt, this.#now() - (this.#oldest() + 1) * MINUTE_MS)
    return {
      // The running minute is one of them.
      seconds: Math.max(1, Math.round(covered / SECOND_MS)),
      callers: callers.map(([caller, { routes }]) => ({
        caller,
        ...sumOf([...routes.values()].flat().map(({ counts }) => counts)),
      })),
      endpoints: callers.flatMap(([caller, { routes }]) =>
        [...routes.values()].flat().map(({ endpoint, counts }) => ({ caller, endpoint, ...counts })),
      ),
    }
  }

  /**
   * Begins to count for an incident. Requests may have failed before the edge found its cause: returns the begin of these
   * failures, or `seenAt`.
   */
  beginIncident(seenAt: number): number {
    const seen = Math.floor(seenAt / SECOND_MS)
    const cellsOf = (second: number) =>
      [...(this.#known(second * SECOND_MS)?.callers ?? [])].flatMap(([caller, { seconds }]) => {
        const counts = seconds.get(second)
        return counts === undefined ? [] : [{ name: caller ?? OTHERS, stale: counts.stale, failed: counts.failed }]
      })
    let first = seen
    for (let second = seen; first - second <= MAX_GAP_SECONDS && seen - second < MAX_EARLIER_SECONDS; second -= 1)
      if (cellsOf(second).some(({ failed }) => failed > 0)) first = second
    const since = first === seen ? seenAt : first * SECOND_MS
    const callers = new Map<string, AffectedCaller>()
    for (let second = first; second * SECOND_MS <= this.#now(); second += 1)
      for (const counts of cellsOf(second)) addAffected(callers, counts)
    this.#affected = { since, callers }
    return since
  }

  /** Returns the callers that the incident affects. */
  get affected(): readonly AffectedCaller[] {
    return [...(this.#affected?.callers.values() ?? [])]
  }

  endIncident(): void {
    this.#affected = undefined
  }

  /** Calls that no request has claimed are those of the edge itself. */
  #giveUpOld(): void {
    for (const [id, calls] of this.#pending) {
      if (this.#pending.size <= MAX_REMEMBERED && this.#now() - calls.since < UNCLAIMED_AFTER_MS) break
      this.#pending.delete(id)
      addCalls(cellOf(this.#minuteOf(this.#now()), null, calls).counts, calls)
    }
  }

  /** The number of the last minute that is too old. */
  #oldest(): number {
    return Math.floor(this.#now() / MINUTE_MS) - MINUTES
  }

  #lastMinutes(): readonly Minute[] {
    const oldest = this.#oldest()
    return this.#minutes.filter((minute) => minute !== undefined && minute.at > oldest) as Minute[]
  }

  #known(time: number): Minute | undefined {
    const at = Math.floor(time / MINUTE_MS)
    const minute = this.#minutes[at % this.#minutes.length]
    return minute?.at === at ? minute : undefined
  }

  #minuteOf(time: number): Minute {
    const known = this.#known(time)
    if (known !== undefined) return known
    const minute = { at: Math.floor(time / MINUTE_MS), callers: new Map(), pairs: 0, seconds: 0 }
    this.#minutes[minute.at % this.#minutes.length] = minute
    return minute
  }
}

function cellOf(minute: Minute, name: string | null, { method, route }: Endpoint): Cell {
  const cells = minute.callers.get(name)?.routes.get(route) ?? []
  for (const cell of cells) if (cell.method === method) return cell
  if (minute.pairs >= MAX_PAIRS && name !== OTHERS) return cellOf(minute, OTHERS, { method: OTHERS, route: OTHERS })
  const caller = callerOf(minute, name)
  const endpoint = name === OTHERS ? OTHERS : `${method} ${route}`
  const cell = { caller, method, endpoint, counts: sumOf([]) }
  caller.routes.set(route, [...cells, cell])
  minute.pairs += 1
  return cell
}

function callerOf({ callers }: Minute, name: string | null): CallerCell {
  const known = callers.get(name)
  if (known !== undefined) return known
  const caller = { routes: new Map(), seconds: new Map() }
  callers.set(name, caller)
  return caller
}

function secondOf(minute: Minute, caller: CallerCell, second: number): SecondCounts {
  const isFull = minute.seconds >= MAX_SECONDS && !caller.seconds.has(second)
  const { seconds } = isFull ? callerOf(minute, OTHERS) : caller
  const known = seconds.get(second)
  if (known !== undefined) return known
  const counts = { stale: 0, failed: 0 }
  seconds.set(second, counts)
  minute.seconds += 1
  return counts
}

/** Adds the counts of a caller to those of its name. */
export function addAffected(sums: Map<string, AffectedCaller>, { name, stale, failed }: AffectedCaller): void {
  const key = sums.has(name) || sums.size < MAX_AFFECTED ? name : OTHERS
  const known = sums.get(key)
  sums.set(key, { name: key, stale: stale + (known?.stale ?? 0), failed: failed + (known?.failed ?? 0) })
}

function addCalls(target: Pick<Counts, 'calls' | 'nodeTime'>, added: Pick<Counts, 'calls' | 'nodeTime'>): void {
  target.calls += added.calls
  target.nodeTime += added.nodeTime
}

export function sumOf(counts: readonly CostCounts[]): Counts {
  const sum = { requests: 0, hits: 0, calls: 0, nodeTime: 0 }
  for (const each of counts) {
    sum.requests += each.requests
    sum.hits += each.hits
    addCalls(sum, each)
  }
  return sum
}

/** Returns a name of at most `maxChars` characters: its end, which tells users of one issuer apart. */
export function shortenName(name: string, maxChars: number): string {
  return name.length <= maxChars ? name : `…${name.slice(1 - maxChars)}`
}
