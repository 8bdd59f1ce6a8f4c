import type { CacheGroup } from '../catalogue/endpoint.ts'
import { etagOf, isNodeFailure, isStorable, isTransient, type Whole } from '../core/envelope.ts'
import type { CacheEvent } from '../core/events.ts'
import type { EdgeRequest, Handler } from '../core/request.ts'
import type { CacheStatus, EdgeResponse, Lookup, StoredResponse, TagEpochs } from '../core/response.ts'
import { withTimeout } from '../core/timing.ts'
import { tracedSeparately } from '../core/trace.ts'
import type { CopiedData } from './invalidate.ts'
import type { Prepared } from './policy.ts'
import { Flights, type Shared } from './single-flight.ts'
import type { CacheStore } from './stores/contract.ts'

/**
 * Getting an answer that is not there: one call for all who want the same, in the process by flights, over all replicas
 * by a claim. What may be joined and what may be kept is decided by the epochs of its tags when it began.
 */

export interface Fills {
  /** Joins any flight of the same mark. */
  filled(request: Request): Promise<Filled>
  /** The same, with nobody waiting; nothing where it failed a moment ago. Never rejects. */
  background(request: Request): Promise<void>
  /** Did nodes fail to answer this a moment ago? */
  failedLately(request: Request): boolean
  /** Joins only a flight that begins from now on; `keep`: what comes of it may be kept. */
  live(request: Request, keep: boolean): Promise<Filled>
}

/** A holder elsewhere may fail, and the next, and the next; then everyone asks for themselves. */
const ROUNDS = 3
export function createFills(ports: FillPorts, next: Handler): Fills {
  const flights = new Flights<Filled>()
  const work = (request: Request, run: (request: Request) => Promise<Filled>, lasting: boolean) => ({
    run: (signal: AbortSignal) => run({ ...request, ask: { ...request.ask, signal } }),
    // Without a time limit nothing would ever end it.
    lasting: lasting && !request.ask.waitForComplete,
  })
  const failed = failures(ports.clock)
  const fill = (request: Request, ask = next) =>
    work(request, (own) => noting(failed, own, fillOnce(ports, ask, own)), true)
  const refresh = tracedSeparately('refresh', next)
  const told = ({ value, joined }: Shared<Filled>, { prepared }: Request): Filled => {
    if (!joined) return value
    ports.onEvent({ kind: 'joined', group: prepared.plan.group })
    return { ...value, collapsed: true }
  }
  const failedLately = ({ prepared }: Request) => failed.lately(prepared.key)
  return {
    failedLately,
    filled: async (request) =>
      told(await flights.join(idOf(request, 'of its mark'), request.ask.signal, fill(request)), request),
    background: async (request) => {
      if (failedLately(request)) return
      const limited = { ...request, ask: { ...request.ask, waitForComplete: false } }
      await flights.background(idOf(limited, 'of its mark'), fill(limited, refresh))
    },
    live: async (request, keep) => {
      const run = async (own: Request) =>
        kept(await fetch(ports, next, own, keep ? await lookFor(ports, own) : own.look))
      return told(await flights.next(idOf(request, 'live'), request.ask.signal, work(request, run, keep)), request)
    },
  }
}

async function noting(failed: Failures, { prepared }: Request, filling: Promise<Filled>): Promise<Filled> {
  try {
    const filled = await filling
    if (isTransient(filled.answer)) failed.note(prepared.key)
    return filled
  } catch (fault) {
    if (isNodeFailure(fault)) failed.note(prepared.key)
    throw fault
  }
}

function lookFor({ store }: FillPorts, { prepared }: Request): Lookup | Promise<Lookup> {
  return store.lookup(prepared.key, prepared.tags)
}

/** Calls without a limit, and those with credentials of their own, are shared only among their like. */
function idOf({ ask, prepared, look }: Request, which: 'live' | 'of its mark'): string {
  const moment =
    which === 'live' || look.kind === 'unavailable'
      ? which
      : `${look.epochs.generation} ${look.epochs.epochs.join(' ')}`
  const whose = ask.caller.credentials === undefined ? '' : ask.caller.name
  return `${prepared.key} ${moment} ${ask.waitForComplete} ${whose}`
}

async function fillOnce(ports: FillPorts, next: Handler, request: Request): Promise<Filled> {
  const { ask, prepared } = request
  const seen = request.look.kind === 'hit' ? request.look.response : undefined
  let look = request.look
  // A call without a limit may take minutes: nobody else is to wait for it, and it need not wait for anybody.
  const rounds = ask.waitForComplete ? 0 : ROUNDS
  for (let round = 0; round < rounds && look.kind !== 'unavailable'; round += 1) {
    const claim = await ports.store.acquireFetchLock(prepared.key, look.epochs, ports.patience(ask))
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
function usable(look: Lookup, seen?: StoredResponse): Filled | undefined {
  if (look.kind !== 'hit' || look.epochs.fenced) return undefined
  const { response: answer } = look
  if (answer.age >= answer.ttl || (seen !== undefined && answer.age >= seen.age)) return undefined
  return { answer: asAnswer(answer), kept: answer, collapsed: true }
}

/** What was kept, as it was answered. */
function asAnswer({ status, body: bytes, clusterStatus }: StoredResponse): Whole {
  return { kind: 'json', status, body: bytes, ...(clusterStatus !== undefined && { clusterStatus }) }
}

/** What the caller hears of it. */
export function toAnswer(
  { answer, kept, stored, collapsed }: Filled,
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
export interface Durations {
  readonly ttl: number
  readonly staleWhileRevalidate: number
  readonly staleIfError: number
}

export interface FillPorts {
  readonly store: CacheStore
  /** By group, and by the route template where one endpoint has a pace of its own. */
  readonly durationsOf: (group: CacheGroup, endpoint: string) => Durations
  readonly copied: CopiedData
  /** Milliseconds after which a holder on another replica that gave no sign counts as dead. */
  readonly patience: (ask: EdgeRequest) => number
  readonly clock: () => number
  readonly onEvent: (event: CacheEvent) => void
}

/** `kept`: it may be kept; `stored`: this call kept it. */
export interface Filled {
  readonly answer: EdgeResponse
  readonly kept?: StoredResponse
  readonly stored?: true
  readonly collapsed?: true
}

export interface Request {
  readonly ask: EdgeRequest
  readonly prepared: Prepared
  /** What the store said when the request came. */
  readonly look: Lookup
}

/** Milliseconds that an answer waits to be kept, so that the next request finds it. A store that stalls holds up nobody. */
const KEEPING = 50

/** What nodes said. `keeping` resolves when the store is done with it. */
export interface Fetched {
  readonly filled: Filled
  readonly keeping: Promise<void>
}

export const nothingToKeep = Promise.resolve()

/** The mark that an answer may be kept under, read before the nodes are asked; none while a write is under way. */
function openMark(look: Lookup): TagEpochs | undefined {
  return look.kind === 'unavailable' || look.epochs.fenced ? undefined : look.epochs
}

/** Asks the nodes. The answer is kept as of `look`, which came before; the store compares when it is read. */
export async function fetch(ports: FillPorts, next: Handler, request: Request, look: Lookup): Promise<Fetched> {
  const { plan, key, tags, listed } = request.prepared
  const ask = anew(request.ask, plan, request.look)
  const began = ports.clock()
  const masterOnly = plan.copied && ports.copied.changed(tags, look)
  const tell = (outcome: 'kept' | 'unkept' | 'failed') =>
    ports.onEvent({ kind: 'fill', group: plan.group, outcome, ms: ports.clock() - began })
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
    return { filled: { answer }, keeping: nothingToKeep }
  }
  tell('kept')
  const { status, body: bytes, clusterStatus, oldestPartAge: older = 0 } = answer
  const cost = ports.clock() - began
  const times = { ...ports.durationsOf(plan.group, ask.endpoint.path), fetchTime: cost }
  const entry = {
    status,
    body: bytes,
    etag: etagOf(bytes),
    ...times,
    ...(clusterStatus !== undefined && { clusterStatus }),
  }
  const keeping = ports.store.store({ key, tags, epochs: mark, response: entry, initialAge: older, info: listed })
  return { filled: { answer, kept: { ...entry, age: cost + older } }, keeping }
}

/** Parts that are no younger than the whole that is to be replaced would give the same again. */
function anew(ask: EdgeRequest, { joined }: Prepared['plan'], look: Lookup): EdgeRequest {
  return joined && look.kind === 'hit' ? { ...ask, maxAge: look.response.age } : ask
}

/** What was fetched, as soon as it is kept, or when that takes too long: then nobody says that it is. */
export function kept({ filled, keeping }: Fetched): Promise<Filled> {
  const stored = keeping.then((): Filled => (filled.kept === undefined ? filled : { ...filled, stored: true }))
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
