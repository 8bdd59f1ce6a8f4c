import type { CacheGroup } from '../catalogue/endpoint.ts'
import { etagOf, isNodeFailure, isStorable, isTransient, type Whole } from '../core/envelope.ts'
import type { CacheEvent } from '../core/events.ts'
import type { EdgeRequest, Handler } from '../core/request.ts'
import type { CacheStatus, EdgeResponse, Lookup, StoredResponse, TagEpochs } from '../core/response.ts'
import { withTimeout } from '../core/timing.ts'
import { tracedSeparately } from '../core/trace.ts'
import type { ReplicationLag } from './invalidate.ts'
import type { CacheTarget } from './policy.ts'
import { type Shared, SingleFlight } from './single-flight.ts'
import type { CacheStore } from './stores/contract.ts'

/**
 * Getting an answer that is not there: one call for all who want the same, in the process by flights, over all replicas
 * by a claim. What may be joined and what may be kept is decided by the epochs of its tags when it began.
 */

export interface Fills {
  /** Joins any flight of the same mark. */
  filled(request: ReadContext): Promise<FetchResult>
  /** The same, with nobody waiting; nothing where it failed a moment ago. Never rejects. */
  background(request: ReadContext): Promise<void>
  /** Did nodes fail to answer this a moment ago? */
  failedLately(request: ReadContext): boolean
  /** Joins only a flight that begins from now on; `keep`: what comes of it may be kept. */
  live(request: ReadContext, keep: boolean): Promise<FetchResult>
}

/** A holder elsewhere may fail, and the next, and the next; then everyone asks for themselves. */
const ROUNDS = 3
export function createFills(ports: FetchPorts, next: Handler): Fills {
  const flights = new SingleFlight<FetchResult>()
  const work = (request: ReadContext, run: (request: ReadContext) => Promise<FetchResult>, lasting: boolean) => ({
    run: (signal: AbortSignal) => run({ ...request, request: { ...request.request, signal } }),
    // Without a time limit nothing would ever end it.
    continuesWithoutCallers: lasting && !request.request.waitForComplete,
  })
  const failed = failures(ports.clock)
  const fill = (request: ReadContext, ask = next) =>
    work(request, (own) => noting(failed, own, fillOnce(ports, ask, own)), true)
  const refresh = tracedSeparately('refresh', next)
  const told = ({ value, collapsed: joined }: Shared<FetchResult>, { target: prepared }: ReadContext): FetchResult => {
    if (!joined) return value
    ports.onEvent({ kind: 'collapsed', group: prepared.policy.group })
    return { ...value, collapsed: true }
  }
  const failedLately = ({ target: prepared }: ReadContext) => failed.lately(prepared.key)
  return {
    failedLately,
    filled: async (request) =>
      told(await flights.join(idOf(request, 'of its mark'), request.request.signal, fill(request)), request),
    background: async (request) => {
      if (failedLately(request)) return
      const limited = { ...request, ask: { ...request.request, waitForComplete: false } }
      await flights.background(idOf(limited, 'of its mark'), fill(limited, refresh))
    },
    live: async (request, keep) => {
      const run = async (own: ReadContext) =>
        kept(await fetch(ports, next, own, keep ? await lookFor(ports, own) : own.lookup))
      return told(
        await flights.joinNext(idOf(request, 'live'), request.request.signal, work(request, run, keep)),
        request,
      )
    },
  }
}

async function noting(
  failed: Failures,
  { target: prepared }: ReadContext,
  filling: Promise<FetchResult>,
): Promise<FetchResult> {
  try {
    const filled = await filling
    if (isTransient(filled.response)) failed.note(prepared.key)
    return filled
  } catch (fault) {
    if (isNodeFailure(fault)) failed.note(prepared.key)
    throw fault
  }
}

function lookFor({ store }: FetchPorts, { target: prepared }: ReadContext): Lookup | Promise<Lookup> {
  return store.lookup(prepared.key, prepared.tags)
}

/** Calls without a limit, and those with credentials of their own, are shared only among their like. */
function idOf({ request: ask, target: prepared, lookup: look }: ReadContext, which: 'live' | 'of its mark'): string {
  const moment =
    which === 'live' || look.kind === 'unavailable'
      ? which
      : `${look.epochs.generation} ${look.epochs.epochs.join(' ')}`
  const whose = ask.caller.credentials === undefined ? '' : ask.caller.name
  return `${prepared.key} ${moment} ${ask.waitForComplete} ${whose}`
}

async function fillOnce(ports: FetchPorts, next: Handler, request: ReadContext): Promise<FetchResult> {
  const { request: ask, target: prepared } = request
  const seen = request.lookup.kind === 'hit' ? request.lookup.response : undefined
  let look = request.lookup
  // A call without a limit may take minutes: nobody else is to wait for it, and it need not wait for anybody.
  const rounds = ask.waitForComplete ? 0 : ROUNDS
  for (let round = 0; round < rounds && look.kind !== 'unavailable'; round += 1) {
    const claim = await ports.store.acquireFetchLock(prepared.key, look.epochs, ports.lockTimeout(ask))
    look = await lookFor(ports, request)
    const found = usable(look, seen)
    if (claim.held) {
      let keeping = nothingToKeep
      try {
        if (found !== undefined) return found
        const fetched = await fetch(ports, next, request, look)
        keeping = fetched.keeping
        return await kept(fetched)
      } finally {
        // Those who wait for the claim look for what was kept.
        void keeping.then(() => claim.release())
      }
    }
    if (found !== undefined) return found
    await withTimeout(claim.settled, Number.POSITIVE_INFINITY, undefined, ask.signal)
  }
  return kept(await fetch(ports, next, request, await lookFor(ports, request)))
}

/** What another replica has kept meanwhile. Of the same data, and newer than what was seen. */
function usable(look: Lookup, seen?: StoredResponse): FetchResult | undefined {
  if (look.kind !== 'hit' || look.epochs.fenced) return undefined
  const { response: answer } = look
  if (answer.age >= answer.ttl || (seen !== undefined && answer.age >= seen.age)) return undefined
  return { response: asAnswer(answer), entry: answer, collapsed: true }
}

/** What was kept, as it was answered. */
function asAnswer({ status, body: bytes, clusterStatus }: StoredResponse): Whole {
  return { kind: 'json', status, body: bytes, ...(clusterStatus !== undefined && { clusterStatus }) }
}

/** What the caller hears of it. */
export function toAnswer(
  { response: answer, entry: kept, stored, collapsed }: FetchResult,
  fwd: NonNullable<CacheStatus['fwd']>,
): EdgeResponse {
  if (kept === undefined || answer.kind !== 'json') return answer
  const status: CacheStatus = {
    fwd,
    ...(stored && !collapsed && { stored }),
    ...(collapsed && { collapsed }),
    ttl: kept.ttl - kept.age,
  }
  return { ...answer, cached: { response: kept, status } }
}

/** One call to the nodes, and what is kept of it: as of what the store said before they were asked. */

/** Milliseconds: fresh, and after that served while it is fetched anew, or when nodes fail. */
export interface FreshnessLifetimes {
  readonly ttl: number
  readonly staleWhileRevalidate: number
  readonly staleIfError: number
}

export interface FetchPorts {
  readonly store: CacheStore
  /** By group, and by the route template where one endpoint has a pace of its own. */
  readonly lifetimesOf: (group: CacheGroup, endpoint: string) => FreshnessLifetimes
  readonly replicationLag: ReplicationLag
  /** Milliseconds after which a holder on another replica that gave no sign counts as dead. */
  readonly lockTimeout: (ask: EdgeRequest) => number
  readonly clock: () => number
  readonly onEvent: (event: CacheEvent) => void
}

/** `kept`: it may be kept; `stored`: this call kept it. */
export interface FetchResult {
  readonly response: EdgeResponse
  readonly entry?: StoredResponse
  readonly stored?: true
  readonly collapsed?: true
}

export interface ReadContext {
  readonly request: EdgeRequest
  readonly target: CacheTarget
  /** What the store said when the request came. */
  readonly lookup: Lookup
}

/** Milliseconds that an answer waits to be kept, so that the next request finds it. A store that stalls holds up nobody. */
const KEEPING = 50

/** What nodes said. `keeping` resolves when the store is done with it. */
export interface Fetched {
  readonly filled: FetchResult
  readonly keeping: Promise<void>
}

export const nothingToKeep = Promise.resolve()

/** The mark that an answer may be kept under, read before the nodes are asked; none while a write is under way. */
function openMark(look: Lookup): TagEpochs | undefined {
  return look.kind === 'unavailable' || look.epochs.fenced ? undefined : look.epochs
}

/** Asks the nodes. The answer is kept as of `look`, which came before; the store compares when it is read. */
export async function fetch(ports: FetchPorts, next: Handler, request: ReadContext, look: Lookup): Promise<Fetched> {
  const { policy: plan, key, tags, info: listed } = request.target
  const ask = anew(request.request, plan, request.lookup)
  const began = ports.clock()
  const masterOnly = plan.isReplicated && ports.replicationLag.mayLag(tags, look)
  const tell = (outcome: 'kept' | 'unkept' | 'failed') =>
    ports.onEvent({ kind: 'fetch', group: plan.group, outcome, ms: ports.clock() - began })
  let answer: EdgeResponse
  try {
    answer = await next(masterOnly ? { ...ask, masterOnly } : ask)
  } catch (fault) {
    tell('failed')
    throw fault
  }
  const mark = openMark(look)
  if (mark === undefined || !isStorable(answer)) {
    tell('unkept')
    return { filled: { response: answer }, keeping: nothingToKeep }
  }
  tell('kept')
  const { status, body: bytes, clusterStatus, oldestPartAge: older = 0 } = answer
  const cost = ports.clock() - began
  const times = { ...ports.lifetimesOf(plan.group, ask.endpoint.path), fetchTime: cost }
  const entry = {
    status,
    body: bytes,
    etag: etagOf(bytes),
    ...times,
    ...(clusterStatus !== undefined && { clusterStatus }),
  }
  const keeping = ports.store.store({ key, tags, epochs: mark, response: entry, initialAge: older, info: listed })
  return { filled: { response: answer, entry: { ...entry, age: cost + older } }, keeping }
}

/** Parts that are no younger than the whole that is to be replaced would give the same again. */
function anew(ask: EdgeRequest, { isJoined: joined }: CacheTarget['policy'], look: Lookup): EdgeRequest {
  return joined && look.kind === 'hit' ? { ...ask, maxAge: look.response.age } : ask
}

/** What was fetched, as soon as it is kept, or when that takes too long: then nobody says that it is. */
export function kept({ filled, keeping }: Fetched): Promise<FetchResult> {
  const stored = keeping.then((): FetchResult => (filled.entry === undefined ? filled : { ...filled, stored: true }))
  return withTimeout(stored, KEEPING, filled)
}

/** Fills that failed a moment ago: for that moment nobody tries again on behalf of what is kept, and nobody waits. */
export interface Failures {
  note(key: string): void
  /** Did a fill of the key fail within the last moment? */
  lately(key: string): boolean
}

const MOMENT = 1000
/** Beyond that, all are forgotten: the next request finds out again. */
const NOTED = 10_000

export function failures(clock: () => number): Failures {
  const until = new Map<string, number>()
  return {
    note: (key) => {
      if (until.size >= NOTED) until.clear()
      until.set(key, clock() + MOMENT)
    },
    lately: (key) => {
      const end = until.get(key)
      if (end === undefined) return false
      if (clock() < end) return true
      until.delete(key)
      return false
    },
  }
}
