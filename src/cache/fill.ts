/**
 * Getting an answer that is not there: one call for all who want the same, in the process by flights, over all replicas
 * by a claim. What may be joined and what may be kept is decided by the epochs of its tags when it began.
 */

import { isNodeFailure, isTransient, type Whole } from '../core/envelope.ts'
import type { AsyncHandler } from '../core/request.ts'
import type { CacheStatus, EdgeResponse, Lookup, StoredResponse } from '../core/response.ts'
import { withTimeout } from '../core/timing.ts'
import { tracedSeparately } from '../core/trace.ts'
import { type Failures, failures } from './failures.ts'
import { type Filled, type FillPorts, fetch, kept, nothingToKeep, type Request } from './fetch.ts'
import { Flights, type Shared } from './flights.ts'

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
export function createFills(ports: FillPorts, next: AsyncHandler): Fills {
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

async function fillOnce(ports: FillPorts, next: AsyncHandler, request: Request): Promise<Filled> {
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
