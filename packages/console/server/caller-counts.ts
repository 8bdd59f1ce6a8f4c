/** The requests of the last minutes by caller and endpoint, with the calls to nodes that they caused. Bounded in size. */
import { type EventListeners, type NodeCallEvent, type RequestEvent, wasSent } from '../../../src/core/events.ts'
import type { CallerCost, CostCounts, EndpointCost } from './request-types.ts'

const MINUTE_MS = 60_000
const SECOND_MS = 1000
const MINUTES = 10
/** Pairs of a caller and an endpoint in one minute. Further ones count together. */
const MAX_PAIRS = 2000
/** Calls of requests in progress, and requests that have ended and may still cause calls. */
const MAX_REMEMBERED = 5000
const FORGOTTEN_AT_ONCE = 250
/** Longer than a request may take. Later, no request claims the calls any more. */
const UNCLAIMED_AFTER_MS = 180_000

/** The requests of all callers that were not authenticated. */
const NOT_SIGNED_IN = 'not signed in'
/** The callers, and the endpoints, above the number that is counted apart. */
const OTHERS = 'others'

type Counts = { -readonly [Name in keyof CostCounts]: number }
/** Names an endpoint. Its text is built once for each cell, since it would cost a hit more than the rest of the count. */
type Endpoint = Pick<RequestEvent, 'method' | 'route'>
/** The requests of a caller to an endpoint in one minute. */
interface Cell {
  readonly method: string
  readonly endpoint: string
  readonly counts: Counts
}
/** By route: its cells, one for each method. */
type CallerCells = Map<string, readonly Cell[]>
interface Minute {
  readonly at: number
  readonly callers: Map<string | null, CallerCells>
  pairs: number
}

export class CallerCounts implements Required<Pick<EventListeners, 'request' | 'nodeCall'>> {
  readonly #minutes: (Minute | undefined)[] = new Array(MINUTES + 1).fill(undefined)
  readonly #now: () => number
  readonly #startedAt: number
  /** Calls of requests that have not ended, oldest first. */
  readonly #pending = new Map<string, Endpoint & Pick<Counts, 'calls' | 'nodeTime'> & { readonly since: number }>()
  readonly #ended = new Map<string, Cell>()

  /** `now`: milliseconds since 1970. */
  constructor(now: () => number = Date.now) {
    this.#now = now
    this.#startedAt = now()
  }

  request(event: RequestEvent): void {
    const { at, requestId, cache, caller = NOT_SIGNED_IN } = event
    const minute = this.#minuteOf(at)
    const cell = cellOf(minute, caller, event)
    const isHit = cache === 'hit' || cache === 'stale'
    cell.counts.requests += 1
    if (isHit) cell.counts.hits += 1
    if (cache === 'hit') return
    const caused = this.#pending.get(requestId)
    this.#pending.delete(requestId)
    if (caused !== undefined) addCalls(cell.counts, caused)
    this.#ended.set(requestId, cell)
    if (this.#ended.size > MAX_REMEMBERED + FORGOTTEN_AT_ONCE) this.#forgetOldest()
  }

  /** Many at once: a map finds its first key behind those of all that were deleted lately. */
  #forgetOldest(): void {
    for (const id of this.#ended.keys()) {
      if (this.#ended.size <= MAX_REMEMBERED) break
      this.#ended.delete(id)
    }
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
      callers: callers.map(([caller, routes]) => ({
        caller,
        ...sumOf([...routes.values()].flat().map(({ counts }) => counts)),
      })),
      endpoints: callers.flatMap(([caller, routes]) =>
        [...routes.values()].flat().map(({ endpoint, counts }) => ({ caller, endpoint, ...counts })),
      ),
    }
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

  #minuteOf(time: number): Minute {
    const at = Math.floor(time / MINUTE_MS)
    const known = this.#minutes[at % this.#minutes.length]
    if (known?.at === at) return known
    const minute = { at, callers: new Map(), pairs: 0 }
    this.#minutes[at % this.#minutes.length] = minute
    return minute
  }
}

function cellOf(minute: Minute, name: string | null, { method, route }: Endpoint): Cell {
  const cells = minute.callers.get(name)?.get(route) ?? []
  for (const cell of cells) if (cell.method === method) return cell
  if (minute.pairs >= MAX_PAIRS && name !== OTHERS) return cellOf(minute, OTHERS, { method: OTHERS, route: OTHERS })
  const ofCaller: CallerCells = minute.callers.get(name) ?? new Map()
  minute.callers.set(name, ofCaller)
  const endpoint = name === OTHERS ? OTHERS : `${method} ${route}`
  const cell = { method, endpoint, counts: sumOf([]) }
  ofCaller.set(route, [...cells, cell])
  minute.pairs += 1
  return cell
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
