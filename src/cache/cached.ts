/** The stage around reads: what is kept and right is the answer; else the nodes are asked, once for all who want it. */

import { isNodeFailure, isTransient } from '../core/outcome.ts'
import type { Ask, Handle, Prompt } from '../core/request.ts'
import type { Answer, CacheStatus } from '../core/response.ts'
import type { AnswerIndex, KeptAnswer, Look } from '../core/stored-response.ts'
import type { FillPorts, Request } from './fetch.ts'
import { createFills, type Fills, toAnswer } from './fill.ts'
import type { HotKeys } from './hot.ts'
import type { Prepare } from './prepare.ts'
import type { AnswerStore } from './stores/contract.ts'
import { createVerify, type Verify, type VerifySettings } from './verify.ts'

export interface CachedPorts extends FillPorts {
  /** It is peeked at where hits are verified: that is none of its own. */
  readonly store: AnswerStore & Pick<AnswerIndex, 'peek'>
  readonly prepare: Prepare
  readonly hot: HotKeys
  /** May a node be asked now for something that nobody waits for? */
  readonly spare: (ask: Ask) => boolean
  readonly verify?: VerifySettings
}

/** What stands behind the look into the store. */
interface Behind {
  readonly fills: Fills
  readonly verify: Verify
}

/** Answers carry `kept` when they may be kept. Rejects as `next` does, unless a stale answer may stand in. */
export function cached(ports: CachedPorts): (next: Handle) => Prompt {
  return (next) => {
    const behind = { fills: createFills(ports, next), verify: createVerify(ports, next) }
    return (ask) => {
      const prepared = ports.prepare(ask)
      if (typeof prepared === 'string' || ask.directives?.noStore) return next(ask)
      const look = ports.store.look(prepared.key, prepared.tags)
      if (look instanceof Promise) return look.then((seen) => answerTo(ports, behind, { ask, prepared, look: seen }))
      return answerTo(ports, behind, { ask, prepared, look })
    }
  }
}

function answerTo(ports: CachedPorts, behind: Behind, request: Request): Answer | Promise<Answer> {
  const { fills } = behind
  const { look, ask } = request
  // What is under way may have read what a write has just changed; the next flight cannot have.
  if (look.kind === 'away' || look.mark.fenced) return fills.live(request, false).then((filled) => filled.answer)
  if (ask.directives?.noCache) return fills.live(request, true).then((filled) => toAnswer(filled, 'request'))
  if (look.kind === 'absent') return fills.filled(request).then((filled) => toAnswer(filled, 'uri-miss'))
  return present(ports, behind, request, look)
}

type Present = Extract<Look, { kind: 'present' }>

function present(ports: CachedPorts, behind: Behind, request: Request, look: Present): Answer | Promise<Answer> {
  const { fills, verify } = behind
  const { answer } = look
  const { age, keepFor, staleWhileRevalidate } = answer
  if (age >= (request.ask.youngerThan ?? Number.POSITIVE_INFINITY)) return orStale(ports.store, fills, request)
  if (age < keepFor) {
    const spare = () => ports.spare(request.ask)
    ports.hot.hit(request.prepared.key, answer, spare, () => fills.background(request))
    verify(request, look)
    return served(answer, { hit: true })
  }
  if (age < keepFor + staleWhileRevalidate) {
    void fills.background(request)
    return served(answer, { hit: true, detail: 'stale-while-revalidate' })
  }
  // Nodes that just failed are not waited for by each who asks: one of them tries again in a moment.
  return (
    (fills.failedLately(request) ? standIn(answer, { hit: true }) : undefined) ?? orStale(ports.store, fills, request)
  )
}

/** A node that fails is no reason to answer nothing, while what is kept is of the same data and within its bound. */
async function orStale(store: AnswerStore, fills: Fills, request: Request): Promise<Answer> {
  try {
    const filled = await fills.filled(request)
    if (!isTransient(filled.answer)) return toAnswer(filled, 'stale')
    return (await staleAnswer(store, request)) ?? filled.answer
  } catch (fault) {
    const stale = isNodeFailure(fault) ? await staleAnswer(store, request) : undefined
    if (stale === undefined) throw fault
    return stale
  }
}

/** Looked at again: a write may have been acknowledged while the nodes were asked. */
async function staleAnswer(store: AnswerStore, { prepared }: Request): Promise<Answer | undefined> {
  const look = await store.look(prepared.key, prepared.tags)
  return look.kind === 'present' && !look.mark.fenced ? standIn(look.answer, { fwd: 'stale' }) : undefined
}

/** The stale answer, within its bound. */
function standIn(answer: KeptAnswer, how: CacheStatus): Answer | undefined {
  const { age, keepFor, staleIfError } = answer
  return age < keepFor + staleIfError ? served(answer, { ...how, detail: 'stale-if-error' }) : undefined
}

function served(answer: KeptAnswer, how: CacheStatus): Answer {
  const { status, bytes, keepFor, age, clusterStatus } = answer
  const kept = { answer, status: withTtl(how, keepFor - age) }
  if (clusterStatus === undefined) return { kind: 'json', status, bytes, kept }
  return { kind: 'json', status, bytes, clusterStatus, kept }
}

/** Written out: of objects that are spread and added to, each has a hidden class of its own, and whoever reads one is slow. */
function withTtl({ hit, fwd, detail }: CacheStatus, ttl: number): CacheStatus {
  const shown: { -readonly [Name in keyof CacheStatus]: CacheStatus[Name] } = { ttl }
  if (hit !== undefined) shown.hit = hit
  if (fwd !== undefined) shown.fwd = fwd
  if (detail !== undefined) shown.detail = detail
  return shown
}
