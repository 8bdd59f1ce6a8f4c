/**
 * Measures staleness in operation: a small share of the fresh hits is also requested from the nodes, after the client
 * has its response, and compared. Nothing is stored. Comparisons use idle capacity of the nodes only, within a budget.
 */
import type { CacheEvent } from '../core/events.ts'
import { type EdgeRead, type Handler, NO_COST } from '../core/request.ts'
import type { CacheIndex, Lookup } from '../core/response.ts'
import { rateBudget } from '../core/timing.ts'
import { tracedSeparately } from '../core/traced.ts'
import type { ReadContext } from './call-nodes.ts'
import { type Comparison, compareResponses, MAX_COMPARED_BYTES } from './compare-responses.ts'

export interface DivergenceCheckSettings {
  /** Share of the fresh hits, 0 to 1. */
  readonly sampleRatio: number
  /** Greatest number of comparisons a second; may be below 1. */
  readonly maxPerSecond: number
}

export interface DivergenceCheckPorts {
  readonly store: Pick<CacheIndex, 'peek'>
  readonly hasIdleCapacity: (request: EdgeRead) => boolean
  readonly clock: () => number
  readonly onEvent: (event: CacheEvent) => void
  readonly divergenceCheck?: () => DivergenceCheckSettings
}

type Hit = Extract<Lookup, { kind: 'hit' }>

/** Starts a comparison for some of the hits; returns at once and never throws. */
export type DivergenceCheck = (context: ReadContext, hit: Hit) => void

/** Returns `undefined` if hits are not verified. */
export function createDivergenceCheck(
  ports: DivergenceCheckPorts,
  next: Handler<EdgeRead>,
): DivergenceCheck | undefined {
  const settings = ports.divergenceCheck
  if (settings === undefined) return undefined
  const takeFromBudget = rateBudget(() => settings().maxPerSecond, ports.clock)
  const running = new Set<string>()
  const callNodes = tracedSeparately('verify', next)
  return (context, hit) => {
    const { sampleRatio, maxPerSecond } = settings()
    if (sampleRatio <= 0 || maxPerSecond <= 0 || Math.random() >= sampleRatio) return
    const { request, target } = context
    // With the caller's own credentials, the call would be made in the caller's name without the caller's request.
    if (request.extent === 'allRows' || request.caller.credentials !== undefined) return
    if (hit.response.body.length > MAX_COMPARED_BYTES) return
    if (running.has(target.key) || !ports.hasIdleCapacity(request) || !takeFromBudget()) return
    running.add(target.key)
    void compare(ports, callNodes, context, hit)
      .then((outcome) => ports.onEvent({ kind: 'verified', group: target.policy.group, outcome }))
      .finally(() => running.delete(target.key))
  }
}

async function compare(
  { store }: DivergenceCheckPorts,
  callNodes: Handler<EdgeRead>,
  { request, target }: ReadContext,
  { epochs, response: { body: stored } }: Hit,
): Promise<Comparison['outcome']> {
  try {
    const { signal } = new AbortController()
    const current = await callNodes({ ...request, client: { signal }, waitForComplete: false, cost: NO_COST })
    return (await compareResponses(store, { target, epochs, stored, current })).outcome
  } catch {
    return 'inconclusive'
  }
}
