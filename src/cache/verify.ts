/**
 * Staleness, measured where it happens: a small share of the fresh hits is asked of the nodes as well, after the client
 * has its answer, and compared. It stores nothing and helps nobody but those who look at the figures, so it takes only
 * what the nodes have to spare, and keeps a budget.
 */
import { isDeepStrictEqual } from 'node:util'
import { isStorable } from '../core/envelope.ts'
import type { CacheEvent } from '../core/events.ts'
import type { EdgeRequest, Handler } from '../core/request.ts'
import type { CacheIndex, Lookup } from '../core/response.ts'
import { rateBudget } from '../core/timing.ts'
import { tracedSeparately } from '../core/trace.ts'
import type { ReadContext } from './fetch.ts'

export interface VerifySettings {
  /** Of the fresh hits, 0 to 1. */
  readonly share: number
  /** Comparisons a second at most, however many hits there are; fractions are taken over several seconds. */
  readonly perSecond: number
  /** 0 to 1, evenly; for tests. */
  readonly random?: () => number
}

export interface VerifyPorts {
  readonly store: Pick<CacheIndex, 'peek'>
  readonly hasIdleCapacity: (ask: EdgeRequest) => boolean
  readonly clock: () => number
  readonly onEvent: (event: CacheEvent) => void
  readonly verify?: VerifySettings
}

type Present = Extract<Lookup, { kind: 'hit' }>

/** Begins a comparison where it is this hit's turn; never throws and never waits. */
export type Verify = (request: ReadContext, look: Present) => void

/** Parsing and comparing take the event loop: longer answers are left out. */
const LONGEST = 256 * 1024

export function createVerify(ports: VerifyPorts, next: Handler): Verify {
  const { share = 0, perSecond = 0, random = Math.random } = ports.verify ?? {}
  if (share <= 0 || perSecond <= 0) return () => undefined
  const turn = rateBudget(perSecond, ports.clock)
  const underWay = new Set<string>()
  const live = tracedSeparately('verify', next)
  return (request, look) => {
    if (random() >= share) return
    const { request: ask, target: prepared } = request
    // A call with somebody's own credentials would be made in his name without his asking.
    if (ask.caller.credentials !== undefined || look.response.body.length > LONGEST) return
    if (underWay.has(prepared.key) || !ports.hasIdleCapacity(ask) || !turn()) return
    underWay.add(prepared.key)
    void compare(ports, live, request, look)
      .then((outcome) => ports.onEvent({ kind: 'verified', group: prepared.policy.group, outcome }))
      .finally(() => underWay.delete(prepared.key))
  }
}

async function compare(
  { store }: VerifyPorts,
  next: Handler,
  { request: ask, target: prepared }: ReadContext,
  { epochs: mark, response: answer }: Present,
): Promise<'same' | 'different' | 'void'> {
  try {
    const { signal } = new AbortController()
    const live = await next({ ...ask, signal, waitForComplete: false })
    if (!isStorable(live)) return 'void'
    // A write that came between explains any difference, and makes agreement a matter of luck.
    const now = await store.peek(prepared.key, prepared.tags)
    if (now.kind === 'unavailable' || now.epochs.fenced || now.epochs.generation !== mark.generation) return 'void'
    if (!isDeepStrictEqual(now.epochs.epochs, mark.epochs)) return 'void'
    return sameValue(answer.body, live.body) ? 'same' : 'different'
  } catch {
    return 'void'
  }
}

/** The same JSON, in whatever order its keys stand. */
function sameValue(one: Buffer, other: Buffer): boolean {
  return one.equals(other) || isDeepStrictEqual(JSON.parse(one.toString()), JSON.parse(other.toString()))
}
