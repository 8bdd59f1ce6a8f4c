import { isNodeFailure, isTransient } from '../core/envelope.ts'
import type { EdgeRequest, Handler } from '../core/request.ts'
import type { CacheIndex, CacheStatus, EdgeResponse, Lookup, StoredResponse } from '../core/response.ts'
import type { FetchPorts, ReadContext } from './fetch.ts'
import { createFills, type Fills, toAnswer } from './fetch.ts'
import type { ResolveTarget } from './policy.ts'
import type { CacheStore } from './stores/contract.ts'
import { createVerify, type Verify, type VerifySettings } from './verify.ts'

/** The stage around reads: what is kept and right is the answer; else the nodes are asked, once for all who want it. */

export interface ReadThroughPorts extends FetchPorts {
  /** It is peeked at where hits are verified: that is none of its own. */
  readonly store: CacheStore & Pick<CacheIndex, 'peek'>
  readonly resolveTarget: ResolveTarget
  readonly refreshAhead: RefreshAhead
  /** May a node be asked now for something that nobody waits for? */
  readonly hasIdleCapacity: (ask: EdgeRequest) => boolean
  readonly verify?: VerifySettings
}

/** What stands behind the look into the store. */
interface Behind {
  readonly fills: Fills
  readonly verify: Verify
}

/** Answers carry `kept` when they may be kept. Rejects as `next` does, unless a stale answer may stand in. */
export function readThrough(ports: ReadThroughPorts): (next: Handler) => Handler {
  return (next) => {
    const behind = { fills: createFills(ports, next), verify: createVerify(ports, next) }
    return (ask) => {
      const prepared = ports.resolveTarget(ask)
      if (typeof prepared === 'string' || ask.directives?.noStore) return next(ask)
      const look = ports.store.lookup(prepared.key, prepared.tags)
      if (look instanceof Promise)
        return look.then((seen) => answerTo(ports, behind, { request: ask, target: prepared, lookup: seen }))
      return answerTo(ports, behind, { request: ask, target: prepared, lookup: look })
    }
  }
}

function answerTo(ports: ReadThroughPorts, behind: Behind, request: ReadContext): EdgeResponse | Promise<EdgeResponse> {
  const { fills } = behind
  const { lookup: look, request: ask } = request
  // What is under way may have read what a write has just changed; the next flight cannot have.
  if (look.kind === 'unavailable' || look.epochs.fenced)
    return fills.live(request, false).then((filled) => filled.response)
  if (ask.directives?.noCache) return fills.live(request, true).then((filled) => toAnswer(filled, 'request'))
  if (look.kind === 'miss') return fills.filled(request).then((filled) => toAnswer(filled, 'uri-miss'))
  return present(ports, behind, request, look)
}

type Present = Extract<Lookup, { kind: 'hit' }>

function present(
  ports: ReadThroughPorts,
  behind: Behind,
  request: ReadContext,
  look: Present,
): EdgeResponse | Promise<EdgeResponse> {
  const { fills, verify } = behind
  const { response: answer } = look
  const { age, ttl, staleWhileRevalidate } = answer
  if (age >= (request.request.maxAge ?? Number.POSITIVE_INFINITY)) return orStale(ports.store, fills, request)
  if (age < ttl) {
    const spare = () => ports.hasIdleCapacity(request.request)
    ports.refreshAhead.onHit(request.target.key, answer, spare, () => fills.background(request))
    verify(request, look)
    return served(answer, { hit: true })
  }
  if (age < ttl + staleWhileRevalidate) {
    void fills.background(request)
    return served(answer, { hit: true, detail: 'stale-while-revalidate' })
  }
  // Nodes that just failed are not waited for by each who asks: one of them tries again in a moment.
  return (
    (fills.failedLately(request) ? standIn(answer, { hit: true }) : undefined) ?? orStale(ports.store, fills, request)
  )
}

/** A node that fails is no reason to answer nothing, while what is kept is of the same data and within its bound. */
async function orStale(store: CacheStore, fills: Fills, request: ReadContext): Promise<EdgeResponse> {
  try {
    const filled = await fills.filled(request)
    if (!isTransient(filled.response)) return toAnswer(filled, 'stale')
    return (await staleAnswer(store, request)) ?? filled.response
  } catch (fault) {
    const stale = isNodeFailure(fault) ? await staleAnswer(store, request) : undefined
    if (stale === undefined) throw fault
    return stale
  }
}

/** Looked at again: a write may have been acknowledged while the nodes were asked. */
async function staleAnswer(store: CacheStore, { target: prepared }: ReadContext): Promise<EdgeResponse | undefined> {
  const look = await store.lookup(prepared.key, prepared.tags)
  return look.kind === 'hit' && !look.epochs.fenced ? standIn(look.response, { fwd: 'stale' }) : undefined
}

/** The stale answer, within its bound. */
function standIn(answer: StoredResponse, how: CacheStatus): EdgeResponse | undefined {
  const { age, ttl, staleIfError } = answer
  return age < ttl + staleIfError ? served(answer, { ...how, detail: 'stale-if-error' }) : undefined
}

function served(answer: StoredResponse, how: CacheStatus): EdgeResponse {
  const { status, body: bytes, ttl, age, clusterStatus } = answer
  const kept = { response: answer, status: withTtl(how, ttl - age) }
  if (clusterStatus === undefined) return { kind: 'json', status, body: bytes, cached: kept }
  return { kind: 'json', status, body: bytes, clusterStatus, cached: kept }
}

/** Written out: of objects that are spread and added to, each has a hidden class of its own, and whoever reads one is slow. */
function withTtl({ hit, fwd, detail }: CacheStatus, ttl: number): CacheStatus {
  const shown: { -readonly [Name in keyof CacheStatus]: CacheStatus[Name] } = { ttl }
  if (hit !== undefined) shown.hit = hit
  if (fwd !== undefined) shown.fwd = fwd
  if (detail !== undefined) shown.detail = detail
  return shown
}

/**
 * Refresh ahead of expiry: what is asked for again and again is fetched anew shortly before its time is over, so that
 * nobody has to wait for it. Only with capacity that nobody else asks for, and few at once.
 */

export interface RefreshAheadOptions {
  /** Refreshes at once. */
  readonly maxConcurrent: number
  /** Hits in the second half of an entry's time that make it hot. */
  readonly minHits: number
}

export interface RefreshAhead {
  /** An entry was hit. `spare` and `refresh` are called only when it is hot and its time nearly over. */
  onHit(key: string, answer: StoredResponse, spare: () => boolean, refresh: () => Promise<void>): void
}

const COUNTED_FROM = 0.5
const REFRESHED_FROM = 0.8
/** Beyond that the counts begin again: hot keys are counted soon enough. */
const COUNTED = 10_000

export function createRefreshAhead({ maxConcurrent: most, minHits: hits }: RefreshAheadOptions): RefreshAhead {
  const counts = new Map<string, number>()
  const running = new Set<string>()
  return {
    onHit(key, { age, ttl }, spare, refresh) {
      if (age < ttl * COUNTED_FROM) return
      const count = (counts.get(key) ?? 0) + 1
      if (counts.size >= COUNTED) counts.clear()
      counts.set(key, count)
      if (count < hits || age < ttl * REFRESHED_FROM) return
      if (running.has(key) || running.size >= most || !spare()) return
      running.add(key)
      counts.delete(key)
      void refresh().finally(() => running.delete(key))
    },
  }
}
