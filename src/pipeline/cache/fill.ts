/**
 * Getting an answer that is not there: one call for all who want the same, in the process by flights, over all replicas
 * by a claim. What may be joined and what may be kept follows `promises.md` (protocol, steps 2, 4 and 5).
 */
import type { CacheGroup } from '../../catalogue/endpoint.ts'
import type { AnswerStore, KeptAnswer, Look, Mark } from '../kept.ts'
import type { Answer, Ask, CacheStatus, Handle } from '../ports.ts'
import type { CopiedData } from './copied.ts'
import { type Failures, failures } from './failures.ts'
import { Flights, type Shared } from './flights.ts'
import { etagOf, isNodeFailure, isStorable, isTransient, type Whole } from './outcome.ts'
import type { Prepared } from './prepare.ts'

/** Milliseconds: fresh, and after that served while it is fetched anew, or when nodes fail. */
export interface Durations {
  readonly keepFor: number
  readonly staleWhileRevalidate: number
  readonly staleIfError: number
}

export interface FillPorts {
  readonly store: AnswerStore
  /** By group, and by the route template where one endpoint has a pace of its own. */
  readonly durationsOf: (group: CacheGroup, endpoint: string) => Durations
  readonly copied: CopiedData
  /** Milliseconds after which a holder on another replica that gave no sign counts as dead. */
  readonly patience: (ask: Ask) => number
  readonly clock: () => number
}

/** `kept`: it may be kept; `stored`: this call kept it. */
export interface Filled {
  readonly answer: Answer
  readonly kept?: KeptAnswer
  readonly stored?: true
  readonly collapsed?: true
}

export interface Request {
  readonly ask: Ask
  readonly prepared: Prepared
  /** What the store said when the request came. */
  readonly look: Look
}

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

export function createFills(ports: FillPorts, next: Handle): Fills {
  const flights = new Flights<Filled>()
  const work = (request: Request, run: (request: Request) => Promise<Filled>, lasting: boolean) => ({
    run: (signal: AbortSignal) => run({ ...request, ask: { ...request.ask, signal } }),
    // Without a time limit nothing would ever end it.
    lasting: lasting && !request.ask.waitForComplete,
  })
  const failed = failures(ports.clock)
  const fill = (request: Request) => work(request, (own) => noting(failed, own, fillOnce(ports, next, own)), true)
  const failedLately = ({ prepared }: Request) => failed.lately(prepared.key)
  return {
    failedLately,
    filled: async (request) =>
      told(await flights.join(idOf(request, 'of its mark'), request.ask.signal, fill(request))),
    background: async (request) => {
      if (failedLately(request)) return
      const limited = { ...request, ask: { ...request.ask, waitForComplete: false } }
      await flights.background(idOf(limited, 'of its mark'), fill(limited))
    },
    live: async (request, keep) => {
      const run = async (own: Request) => fetch(ports, next, own, keep ? await lookFor(ports, own) : own.look)
      return told(await flights.next(idOf(request, 'live'), request.ask.signal, work(request, run, keep)))
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

function told({ value, joined }: Shared<Filled>): Filled {
  return joined ? { ...value, collapsed: true } : value
}

function lookFor({ store }: FillPorts, { prepared }: Request): Promise<Look> {
  return store.look(prepared.key, prepared.tags)
}

/** Calls without a limit, and those with credentials of their own, are shared only among their like. */
function idOf({ ask, prepared, look }: Request, which: 'live' | 'of its mark'): string {
  const moment =
    which === 'live' || look.kind === 'away' ? which : `${look.mark.generation} ${look.mark.epochs.join(' ')}`
  const whose = ask.caller.credentials === undefined ? '' : ask.caller.name
  return `${prepared.key} ${moment} ${ask.waitForComplete} ${whose}`
}

async function fillOnce(ports: FillPorts, next: Handle, request: Request): Promise<Filled> {
  const { ask, prepared } = request
  const seen = request.look.kind === 'present' ? request.look.answer : undefined
  let look = request.look
  // A call without a limit may take minutes: nobody else is to wait for it, and it need not wait for anybody.
  const rounds = ask.waitForComplete ? 0 : ROUNDS
  for (let round = 0; round < rounds && look.kind !== 'away'; round += 1) {
    const claim = await ports.store.claim(prepared.key, look.mark, ports.patience(ask))
    look = await lookFor(ports, request)
    const found = usable(look, seen)
    if (claim.held) {
      try {
        return found ?? (await fetch(ports, next, request, look))
      } finally {
        await claim.release()
      }
    }
    if (found !== undefined) return found
    await orAborted(claim.settled, ask.signal)
  }
  return fetch(ports, next, request, await lookFor(ports, request))
}

/** What another replica has kept meanwhile. Of the same data, and newer than what was seen. */
function usable(look: Look, seen?: KeptAnswer): Filled | undefined {
  if (look.kind !== 'present' || look.mark.fenced) return undefined
  const { answer } = look
  if (answer.age >= answer.keepFor || (seen !== undefined && answer.age >= seen.age)) return undefined
  return { answer: asAnswer(answer), kept: answer, collapsed: true }
}

/** What was kept, as it was answered. */
function asAnswer({ status, bytes, clusterStatus }: KeptAnswer): Whole {
  return { kind: 'json', status, bytes, ...(clusterStatus !== undefined && { clusterStatus }) }
}

/** The mark that an answer may be kept under, read before the nodes are asked; none while a write is under way. */
function openMark(look: Look): Mark | undefined {
  return look.kind === 'away' || look.mark.fenced ? undefined : look.mark
}

/** Asks the nodes. The answer is kept as of `look`, which came before; the store compares when it is read. */
async function fetch(ports: FillPorts, next: Handle, request: Request, look: Look): Promise<Filled> {
  const { plan, key, tags, listed } = request.prepared
  const ask = anew(request.ask, plan, request.look)
  const began = ports.clock()
  const masterOnly = plan.copied && ports.copied.changed(tags, look)
  const answer = await next(masterOnly ? { ...ask, masterOnly } : ask)
  const mark = openMark(look)
  if (mark === undefined || !isStorable(answer)) return { answer }
  const { status, bytes, clusterStatus, oldest: older = 0 } = answer
  const cost = ports.clock() - began
  const times = { ...ports.durationsOf(plan.group, ask.endpoint.path), cost }
  const entry = { status, bytes, etag: etagOf(bytes), ...times, ...(clusterStatus !== undefined && { clusterStatus }) }
  await ports.store.keep({ key, tags, mark, answer: entry, older, listed })
  return { answer, kept: { ...entry, age: cost + older }, stored: true }
}

/** Parts that are no younger than the whole that is to be replaced would give the same again. */
function anew(ask: Ask, { joined }: Prepared['plan'], look: Look): Ask {
  return joined && look.kind === 'present' ? { ...ask, youngerThan: look.answer.age } : ask
}

/** What the caller hears of it. */
export function toAnswer({ answer, kept, stored, collapsed }: Filled, fwd: NonNullable<CacheStatus['fwd']>): Answer {
  if (kept === undefined || answer.kind !== 'json') return answer
  const status: CacheStatus = {
    fwd,
    ...(stored && !collapsed && { stored }),
    ...(collapsed && { collapsed }),
    ttl: kept.keepFor - kept.age,
  }
  return { ...answer, kept: { answer: kept, status } }
}

async function orAborted(settled: Promise<void>, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted()
  let leave = () => {}
  const left = new Promise<never>((_, reject) => {
    leave = () => reject(signal.reason)
    signal.addEventListener('abort', leave, { once: true })
  })
  try {
    await Promise.race([settled, left])
  } finally {
    signal.removeEventListener('abort', leave)
  }
}
