/** What the clients of one run received. */
import { AGE, CACHE_STATUS, headerOf, type Received } from './connections.ts'
import type { Session } from './session.ts'

/**
 * How the edge answered, by `Cache-Status`. `snapshot`: computed from a snapshot of the collection; `bypass`: without the
 * cache, such as a rejection.
 */
export const SOURCES = [
  'hit',
  'snapshot',
  'stale-while-revalidate',
  'stale-if-error',
  'miss',
  'collapsed',
  'bypass',
] as const
export type Source = (typeof SOURCES)[number]

/** The answers to one GET of the session. */
export interface TakenGet {
  /** Milliseconds of each answer that waited for a fetch: misses and collapsed requests. */
  readonly waited: number[]
  /** Greatest `Age` in seconds, without responses that were served because a call had failed. */
  oldest: number
  /** The same of answers with which the manager refuses by rights. */
  oldestRefusal: number
}

export interface Taken {
  /** Milliseconds from sending the request to the last byte of the answer. */
  readonly times: number[]
  /** Answers that arrived in this phase, also to requests of an earlier one. */
  arrived: number
  readonly errors: Map<string, number>
  readonly sources: Map<Source, number>
  /** By the position of the GET in the session. */
  readonly gets: readonly TakenGet[]
  /** Milliseconds of each login of the v4 contract. */
  readonly logins: number[]
}

export function emptyTaken(gets: number): Taken {
  return {
    times: [],
    arrived: 0,
    errors: new Map(),
    sources: new Map(),
    gets: Array.from({ length: gets }, () => ({ waited: [], oldest: 0, oldestRefusal: 0 })),
    logins: [],
  }
}

/** What answers of a run must be. */
export interface Expected {
  readonly success: Session['success']
  readonly hasRefusals?: true
  /** Whether they must have `Age` and `Cache-Status`. */
  readonly throughEdge: boolean
}

export function record(taken: Taken, get: number, ms: number, received: Received, expected: Expected): void {
  taken.times.push(ms)
  const fault = faultOf(received, expected)
  if (fault !== '') increment(taken.errors, fault)
  if (!expected.throughEdge || fault !== '') return
  const source = sourceOf(headerOf(received.head, CACHE_STATUS) ?? '')
  increment(taken.sources, source)
  const own = taken.gets[get]
  if (own === undefined) return
  if (source === 'miss' || source === 'collapsed') own.waited.push(ms)
  // The bound is that of a cluster whose nodes answer.
  if (source === 'stale-if-error') return
  const oldest = received.status === 200 ? 'oldest' : 'oldestRefusal'
  own[oldest] = Math.max(own[oldest], Number(headerOf(received.head, AGE) ?? 0))
}

/** Records a login, whose answer is a token. Returns the token, if there is one. */
export function recordLogin(taken: Taken, ms: number, received: Received): string | undefined {
  const { status, beginning, length, fault } = received
  taken.logins.push(ms)
  const isToken = fault === undefined && status === 200 && beginning.length === length && TOKEN.test(beginning)
  if (isToken) return beginning
  increment(taken.errors, `login: ${fault ?? `status ${status}`}`)
  return undefined
}

/** The code, at the end of a problem. */
const ERROR = /"error":\d+/
const TOKEN = /^[\w-]+\.[\w-]+\.[\w-]+$/

/** Returns what is wrong with an answer, in a few words that many answers share, or an empty text. */
export function faultOf(received: Received, { success, throughEdge, hasRefusals }: Expected): string {
  const { status, head, length, beginning, ending, fault } = received
  if (fault !== undefined) return fault
  if (hasRefusals && status === 403 && ERROR.exec(ending)?.[0] === '"error":4000') return ''
  if (status !== 200) return `status ${status} ${ERROR.exec(ending)?.[0] ?? ''}`
  if (length === 0) return 'empty'
  if (!beginning.startsWith(success.beginning)) return beginning.split(',', 1)[0] ?? 'other body'
  if (!ending.endsWith(success.ending)) return `other end: ${ending}`
  if (!throughEdge) return ''
  if (headerOf(head, CACHE_STATUS) === undefined) return 'no Cache-Status'
  return Number.isInteger(Number(headerOf(head, AGE) ?? Number.NaN)) ? '' : 'no Age'
}

export function sourceOf(cacheStatus: string): Source {
  if (cacheStatus.includes('detail=stale-while-revalidate')) return 'stale-while-revalidate'
  if (cacheStatus.includes('detail=stale-if-error')) return 'stale-if-error'
  if (cacheStatus.includes('; hit')) return cacheStatus.includes('detail=snapshot') ? 'snapshot' : 'hit'
  if (cacheStatus.includes('; collapsed')) return 'collapsed'
  return cacheStatus.includes('fwd=bypass') ? 'bypass' : 'miss'
}

function increment<Key>(counts: Map<Key, number>, key: Key): void {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}

/** Returns a quantile of sorted values. */
export function quantile(sorted: Float64Array, part: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN
}

/** Returns the median, the 95th and the 99th percentile. */
export function spreadOf(values: readonly number[]): readonly [number, number, number] {
  const sorted = Float64Array.from(values).sort()
  return [quantile(sorted, 0.5), quantile(sorted, 0.95), quantile(sorted, 0.99)]
}
