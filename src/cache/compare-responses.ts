/**
 * Compares a stored response with the current one of the nodes: the one place that decides what counts as different. And
 * measures staleness in operation: a small share of the fresh hits is also requested from the nodes, after the client has
 * its response, and compared. Nothing is stored. Comparisons use idle capacity of the nodes only, within a budget.
 */

import { isDeepStrictEqual } from 'node:util'
import { collectionContracts } from '../collections/contracts.ts'
import type { CacheSettings } from '../config/schema.ts'
import type { CacheIndex } from '../core/cache-index.ts'
import { reportedNodeFailure } from '../core/error-meanings.ts'
import type { CacheDifference } from '../core/events.ts'
import { isPartial } from '../core/origins.ts'
import { actsAsItself, createNoClient, type EdgeRead, type Handler, NO_COST } from '../core/request.ts'
import type { EdgeResponse } from '../core/response.ts'
import type { Hit, TagEpochs } from '../core/stored-response.ts'
import { rateBudget } from '../core/timing.ts'
import { tracedSeparately } from '../core/traced.ts'
import { isObject } from '../core/values.ts'
import type { CacheTarget } from './key.ts'
import type { CachePorts, ReadContext } from './read-context.ts'
import { isStorable } from './store-response.ts'

/** `inconclusive`: a write, a failure or the length of the responses prevented the comparison. */
export type Comparison =
  | { readonly outcome: 'same' | 'inconclusive' }
  | { readonly outcome: 'different'; readonly difference: CacheDifference }

/** Parsing and comparing block the event loop, so longer responses are not parsed. */
const MAX_COMPARED_BYTES = 256 * 1024

interface Compared {
  readonly target: CacheTarget
  /** The epochs when the stored response was looked up; undefined: they could not be read. */
  readonly epochs: TagEpochs | undefined
  /** The body as the cache serves it. */
  readonly stored: Buffer
  readonly current: EdgeResponse
}

const INCONCLUSIVE: Comparison = { outcome: 'inconclusive' }

/** Never rejects. The order of JSON members does not matter. */
export async function compareResponses(
  store: Pick<CacheIndex, 'peek'>,
  { target, epochs, stored, current }: Compared,
): Promise<Comparison> {
  try {
    if (epochs === undefined || !(await isUnchanged(store, target, epochs))) return INCONCLUSIVE
    if (current.kind === 'file') return INCONCLUSIVE
    if (current.errorNumber !== 0 && !isPartial(current)) {
      if (reportedNodeFailure(current) !== undefined) return INCONCLUSIVE
      const isSameRefusal = isStorable(current) && stored.equals(current.body)
      return isSameRefusal ? { outcome: 'same' } : { outcome: 'different', difference: 'error' }
    }
    return isStorable(current) ? compareBodies(stored, current.body) : INCONCLUSIVE
  } catch {
    return INCONCLUSIVE
  }
}

/** After a write, a difference is expected and equality proves nothing. */
async function isUnchanged(
  store: Pick<CacheIndex, 'peek'>,
  { key, tags }: CacheTarget,
  before: TagEpochs,
): Promise<boolean> {
  const now = await store.peek(key, tags)
  if (now.kind === 'unavailable' || now.epochs.fenced || now.epochs.generation !== before.generation) return false
  return isDeepStrictEqual(now.epochs.epochs, before.epochs)
}

function compareBodies(stored: Buffer, current: Buffer): Comparison {
  if (stored.equals(current)) return { outcome: 'same' }
  if (Math.max(stored.length, current.length) > MAX_COMPARED_BYTES) return INCONCLUSIVE
  const one: unknown = JSON.parse(stored.toString())
  const other: unknown = JSON.parse(current.toString())
  if (isDeepStrictEqual(one, other)) return { outcome: 'same' }
  return { outcome: 'different', difference: differenceOf(collectionOf(one), collectionOf(other)) }
}

/** The rows of either contract. */
interface Collection {
  readonly items: readonly unknown[]
  readonly totalItems: unknown
}

function differenceOf(one: Collection | undefined, other: Collection | undefined): CacheDifference {
  if (one === undefined || other === undefined) return 'content'
  if (one.totalItems !== other.totalItems) return 'total'
  return isDeepStrictEqual(sortedTexts(one.items), sortedTexts(other.items)) ? 'order' : 'content'
}

function collectionOf(envelope: unknown): Collection | undefined {
  const data = isObject(envelope) ? envelope.data : undefined
  if (!isObject(data)) return undefined
  for (const { rowsName, totalName } of Object.values(collectionContracts)) {
    const items = data[rowsName]
    if (Array.isArray(items)) return { items, totalItems: data[totalName] }
  }
  return undefined
}

function sortedTexts(items: readonly unknown[]): string[] {
  return items.map((item) => JSON.stringify(item, withSortedMembers)).sort()
}

function withSortedMembers(_name: string, value: unknown): unknown {
  return isObject(value) ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value
}

/** Starts a comparison for some of the hits; returns at once and never throws. */
export type DivergenceCheck = (context: ReadContext, hit: Hit) => void

export function createDivergenceCheck(
  settings: () => Pick<CacheSettings, 'divergenceCheck'>,
  ports: Pick<CachePorts, 'hasIdleCapacity' | 'clock' | 'onEvent'> & { readonly store: Pick<CacheIndex, 'peek'> },
  next: Handler<EdgeRead>,
): DivergenceCheck {
  const takeFromBudget = rateBudget(() => settings().divergenceCheck.maxPerSecond, ports.clock)
  const running = new Set<string>()
  const callNodes = tracedSeparately('verify', next)
  return (context, hit) => {
    const { sampleRatio, maxPerSecond } = settings().divergenceCheck
    if (sampleRatio <= 0 || maxPerSecond <= 0 || Math.random() >= sampleRatio) return
    const { request, target } = context
    // With the caller's own credentials, the call would be made in the caller's name without the caller's request.
    if (request.extent === 'allRows' || actsAsItself(request.caller)) return
    if (hit.response.body.length > MAX_COMPARED_BYTES) return
    if (running.has(target.key) || !ports.hasIdleCapacity(request) || !takeFromBudget()) return
    running.add(target.key)
    const { group } = target.policy
    void compare(ports.store, callNodes, context, hit)
      .catch(() => 'inconclusive' as const)
      .then((outcome) => ports.onEvent({ kind: 'verified', group, outcome }))
      .finally(() => running.delete(target.key))
  }
}

async function compare(
  store: Pick<CacheIndex, 'peek'>,
  callNodes: Handler<EdgeRead>,
  { request, target }: ReadContext,
  { epochs, response: { body: stored } }: Hit,
): Promise<Comparison['outcome']> {
  // No stored response of the other contract may answer for the node.
  const asked = {
    ...request,
    client: createNoClient(),
    waitForComplete: false,
    reuse: 'noStore',
    cost: NO_COST,
  } as const
  const current = await callNodes(asked)
  return (await compareResponses(store, { target, epochs, stored, current })).outcome
}
