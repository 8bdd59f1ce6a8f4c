/**
 * Fetches a response that the cache cannot serve. Identical requests share one call to the nodes: within the process
 * by single flight, over all replicas by a fetch lock. The epochs of the response's tags, read before the call, decide
 * which requests may share it and whether the response may be stored.
 */
import { errorNumberOf, isOutageFailure, nodeFailureOf } from '../core/envelope.ts'
import { EdgeError } from '../core/errors.ts'
import { AbandonedError } from '../core/presence.ts'
import { growingLru } from '../core/recently-used.ts'
import { type EdgeRead, type Handler, NO_COST, type RequestClient } from '../core/request.ts'
import { type AgedResponse, type Lookup, type ReadResponse, responseOf } from '../core/response.ts'
import { timeLimitOf, withTimeout } from '../core/timing.ts'
import { tracedSeparately } from '../core/traced.ts'
import {
  awaitStore,
  type CachePorts,
  callNodes,
  type FetchResult,
  lifetimesOf,
  type ReadContext,
  storeResponse,
} from './call-nodes.ts'
import { staleRuleOf } from './policy.ts'
import { type Shared, SingleFlight } from './single-flight.ts'
import type { Snapshots, StoredSource } from './snapshots/stage.ts'
import { epochsText } from './stores/epochs.ts'
import { usualLifetime } from './stores/local-entries.ts'

export type Fetcher = ReturnType<typeof createFetcher>

/** A replica that holds a fetch lock counts as dead this long after its call must have ended. */
const LOCK_GRACE_MS = 2000
/** After this many fetch locks of other replicas ended without a stored response, fetch without a lock. */
const MAX_LOCK_ATTEMPTS = 3
/** After a failed or incomplete fetch, the next refresh begins this much later. */
const RETRY_PAUSE_MS = 1000
/**
 * After a failed fetch, stale responses are served this long without waiting for another one, while refreshes try the
 * nodes: the next fetch may be slow to fail.
 */
const RECENT_FAILURE_MS = 5000
const MAX_KEYS = 10_000
/** Refreshes at once during an outage, and at its end. */
const MAX_OUTAGE_REFRESHES = 4
/** An outage counts as over this long after the last fetch that found no node. */
const OUTAGE_END_MS = 10_000
/** No node can be called, and the queue of the node is full. */
const NO_NODE = 920
const OVERLOADED = 921

/** The error of a failed fetch, and when it ended. */
interface Failure {
  readonly code: number
  readonly at: number
}

const nothingToRefresh = Promise.resolve()

/** `next` calls the nodes. */
export function createFetcher(ports: CachePorts, next: Handler<EdgeRead>, snapshots: Snapshots) {
  const flights = new SingleFlight<FetchResult>(isRefusal)
  const computations = new SingleFlight<FetchResult | undefined>(isRefusal)
  const outcomes = new Outcomes(ports)
  // A collection has a stage that notes its totals for snapshots, and which of its responses has all rows for an outage.
  const handlerFor = (context: ReadContext): Handler<EdgeRead, ReadResponse> => {
    const { snapshot, rows } = context.target.policy
    const isNoted = snapshot !== undefined || (rows !== undefined && (lifetimesOf(ports, context).outage ?? 0) > 0)
    return isNoted ? snapshots.fetch : next
  }
  const refreshing = new Set<string>()
  return {
    /**
     * Returns the error with which nodes failed to answer this request, if it is recent or a refresh tries them again; while no
     * node can be called, also if this request was not among those that failed.
     */
    recentFailure: ({ target: { key }, request, lookup }: ReadContext) => {
      if (ports.outageFor?.() !== undefined) return NO_NODE
      // After an outage, the calls are left to responses that are refreshed first.
      const isWaiting = outcomes.isInOutage(lookup) && !ports.hasIdleCapacity(request)
      if (isWaiting) return outcomes.lastFailure(key) ?? NO_NODE
      return outcomes.lastFailure(key, refreshing.has(key) ? Number.POSITIVE_INFINITY : RECENT_FAILURE_MS)
    },
    /**
     * Whether the last fetch was answered with an error, although a stored response could have been served stale; of a
     * response that is served stale only while it is hot, also whether the last fetch failed.
     */
    wasRefused: ({ target }: ReadContext) => outcomes.isRefused(target.key),
    /** Whether the fetch of the response, or another one from the node that is asked first, takes longer than usual. */
    isLate: (context: ReadContext) =>
      ports.lateFetches.isLate(lateKeyOf(ports, context), ports.waitForRead(context.request, 0)),
    /** Answers from a snapshot that `source` serves. Resolves to undefined if there is none. */
    computeStored: (context: ReadContext, source: StoredSource) =>
      computeShared(context, source).catch(() => undefined),
    /** Shares any call in flight for the same epochs. */
    fetchShared: async (context: ReadContext): Promise<FetchResult> => {
      const computed = await computeShared(context)
      if (computed !== undefined) return computed
      const work = workOf(context, (own) => fetchAndNote(outcomes, ports, handlerFor(own), own), true)
      const id = ports.neverCollapses ? `${sharedId(context)} ${context.request.requestId}` : sharedId(context)
      return resultOf(ports, await flights.join(id, context.request.client, work), context)
    },
    /** Shares only a call that starts from now on; `store`: whether its response may be stored. */
    fetchLatest: async (context: ReadContext, store: boolean): Promise<FetchResult> => {
      const run = async (own: ReadContext) => {
        const lookup = store ? await ports.store.lookup(own.target.key, own.target.tags) : own.lookup
        return awaitStore(await callNodes(ports, handlerFor(own), own, lookup))
      }
      const id = flightId(context, 'latest')
      const { client } = context.request
      return resultOf(ports, await flights.joinNext(id, client, workOf(context, run, store)), context)
    },
    mayRefresh,
    /** Fetches for later requests, if `mayRefresh` holds. Never rejects. */
    refresh: (context: ReadContext): Promise<void> => {
      const { key } = context.target
      if (!mayRefresh(context)) return nothingToRefresh
      refreshing.add(key)
      const effort = context.request.extent === 'allRows' ? 'complete' : 'bounded'
      const request: EdgeRead = { ...context.request, waitForComplete: false, effort }
      const limited = { ...context, request }
      const run = async (own: ReadContext) =>
        (await computeShared(own)) ??
        (await fetchAndNote(outcomes, ports, tracedSeparately('refresh', handlerFor(own)), own))
      const work = workOf(limited, run, true)
      return flights.background(sharedId(limited), work).finally(() => refreshing.delete(key))
    },
  }

  /**
   * Whether no refresh is under way, and no fetch within the last second failed or gave a response that may not be stored.
   * Each stale hit comes here, so it must cost little while a refresh is under way.
   */
  function mayRefresh({ target: { key } }: ReadContext): boolean {
    if (refreshing.has(key) || outcomes.isPaused(key)) return false
    // All responses are stale at the end of an outage: they are refreshed in the order in which they are requested.
    return !outcomes.isInOutage() || refreshing.size < MAX_OUTAGE_REFRESHES
  }

  /** Answers from a snapshot of the collection. Resolves to undefined if the nodes must answer. */
  async function computeShared(context: ReadContext, source?: StoredSource): Promise<FetchResult | undefined> {
    const { snapshot, rows } = context.target.policy
    if ((source === undefined ? snapshot : rows) === undefined) return undefined
    if (context.lookup.kind === 'unavailable' && source === undefined) return undefined
    const started = ports.clock()
    const computation = await snapshots.find(context.request, source)
    if (computation === undefined) return undefined
    const run = async (): Promise<FetchResult | undefined> => {
      const response = await computation.run(started)
      if (response === undefined) return undefined
      const fetchTime = ports.clock() - started
      const fetched = await storeResponse(ports, context, { lookup: context.lookup, response, fetchTime })
      // The next request must compute it again, but each stale hit until then must not.
      if (fetched.storing === undefined) outcomes.pause(context.target.key)
      return awaitStore(fetched)
    }
    const onStart = () => {
      if (computation.isCostly) context.request.cost.charge()
    }
    const work = { onStart, run, continuesWithoutCallers: true }
    const suffix = source === undefined ? '' : ` stored${source.isOnlySource ? ', no other source' : ''}`
    const id = `${sharedId(context)}${suffix}`
    // Without its flow: the request needs no node.
    const { signal, presence } = context.request.client
    return (await computations.join(id, { signal, ...(presence && { presence }) }, work)).value
  }
}

async function fetchAndNote(
  outcomes: Outcomes,
  ports: CachePorts,
  handler: Handler<EdgeRead, ReadResponse>,
  context: ReadContext,
): Promise<FetchResult> {
  const { effort, waitForComplete } = context.request
  // Minutes of many calls say nothing about a node.
  const isLong = effort === 'complete' || waitForComplete
  const end = isLong ? () => undefined : ports.lateFetches.begin(lateKeyOf(ports, context), lateAfter(context))
  try {
    const result = await fetchOverReplicas(ports, handler, context)
    end(result.kind !== 'failed')
    outcomes.note(context, result)
    return result
  } catch (fault) {
    const code = nodeFailureOf(fault)
    end(code === undefined)
    // A call that no client awaits was not sent.
    if (code !== undefined && !(fault instanceof AbandonedError)) outcomes.noteFailure(context, code)
    throw fault
  }
}

/** A fetch is late after this many of its usual times, within these bounds in milliseconds. */
const LATE_FACTOR = 3
const MIN_LATE_MS = 250
const MAX_LATE_MS = 1500

/** Returns the milliseconds after which a fetch is late. */
export function lateAfter({ lookup }: ReadContext): number {
  const usual = lookup.kind === 'hit' ? lookup.response.fetchTime : MAX_LATE_MS
  return Math.min(MAX_LATE_MS, Math.max(MIN_LATE_MS, LATE_FACTOR * usual))
}

/** Returns what is late with a fetch: the node that is asked first, or only the response if that node is not known. */
function lateKeyOf({ firstNode }: CachePorts, { request, target }: ReadContext): string {
  return firstNode(request) ?? target.key
}

function resultOf(
  { onEvent }: CachePorts,
  { value, collapsed }: Shared<FetchResult>,
  { target }: ReadContext,
): FetchResult {
  if (!collapsed) return value
  onEvent({ kind: 'collapsed', group: target.policy.group })
  return { ...value, collapsed }
}

/** How the last fetch of each response ended. */
class Outcomes {
  readonly #clock: () => number
  readonly #outageFor: CachePorts['outageFor']
  readonly #failures = growingLru<string, Failure>(MAX_KEYS)
  readonly #refusedUntil = growingLru<string, number>(MAX_KEYS)
  readonly #pausedUntil = growingLru<string, number>(MAX_KEYS)

  /** When the latest fetch failed while no node answered. */
  #outageAt = Number.NEGATIVE_INFINITY

  constructor({ clock, outageFor }: Pick<CachePorts, 'clock' | 'outageFor'>) {
    this.#clock = clock
    this.#outageFor = outageFor
  }

  /** Whether fetches fail because no node answers, or did so a short time ago, and later than the response was fetched. */
  isInOutage(lookup?: Lookup): boolean {
    const since = this.#clock() - this.#outageAt
    return since < OUTAGE_END_MS && (lookup?.kind !== 'hit' || lookup.age > since)
  }

  /** Returns the error of the last fetch, if it failed within this time. */
  lastFailure(key: string, ms = Number.POSITIVE_INFINITY): number | undefined {
    const failure = this.#failures.get(key)
    return failure !== undefined && this.#clock() - failure.at < ms ? failure.code : undefined
  }

  isRefused(key: string): boolean {
    return this.#clock() < (this.#refusedUntil.get(key) ?? 0)
  }

  /** Whether the next refresh must not begin yet. */
  isPaused(key: string): boolean {
    return this.lastFailure(key, RETRY_PAUSE_MS) !== undefined || this.#clock() < (this.#pausedUntil.get(key) ?? 0)
  }

  pause(key: string): void {
    this.#pausedUntil.set(key, this.#clock() + RETRY_PAUSE_MS)
  }

  note(context: ReadContext, result: FetchResult): void {
    const { key } = context.target
    if (result.kind === 'failed') this.noteFailure(context, result.code)
    else this.#failures.delete(key)
    if (result.kind === 'cacheable') this.#refusedUntil.delete(key)
    if (result.kind === 'refused') this.#noteRefusal(context)
    if (result.kind === 'uncacheable') this.pause(key)
  }

  noteFailure(context: ReadContext, code: number): void {
    const { target, lookup } = context
    const at = this.#clock()
    // A read of one node or one agent fails so too while the other nodes answer.
    if (isOutageFailure(code) && this.#outageFor?.() !== undefined) this.#outageAt = at
    const before = this.#failures.get(target.key)?.code
    // That many responses are refreshed at once does not end what was known.
    const known = code === OVERLOADED && this.isInOutage() ? (before ?? NO_NODE) : code
    this.#failures.set(target.key, { code: known, at })
    const errorNumber = lookup.kind === 'hit' ? errorNumberOf(lookup.response) : 0
    if (staleRuleOf(target.policy, errorNumber) === 'whileHot') this.#noteRefusal(context)
  }

  /** Until the stored response expires: a shorter time would serve old responses and errors in turn. */
  #noteRefusal({ target, lookup }: ReadContext): void {
    if (lookup.kind !== 'hit') return
    this.#refusedUntil.set(target.key, this.#clock() + Math.max(0, usualLifetime(lookup.response) - lookup.age))
  }
}

function workOf(context: ReadContext, run: (context: ReadContext) => Promise<FetchResult>, isStored: boolean) {
  const { request } = context
  const flow = request.client.flow !== undefined && { flow: request.client.flow }
  return {
    // The request that starts the fetch is charged for it, not for its parts, and a refresh is charged to none.
    onStart: () => request.cost.charge(),
    run: ({ signal, presence }: RequestClient) => {
      // Others will use a snapshot, whatever becomes of the client whose request has led to it.
      const client = {
        ...flow,
        ...(isStored && { isShared: true as const }),
        signal,
        ...(presence && request.extent !== 'allRows' && { presence }),
      }
      return run({ ...context, request: { ...request, client, cost: NO_COST } })
    },
    // A call without a time limit might never end if its caller could not end it.
    continuesWithoutCallers: isStored && !request.waitForComplete,
  }
}

function sharedId(context: ReadContext): string {
  return flightId(context, epochsText(context.lookup))
}

/** The node has refused the credentials of the caller. */
const REFUSED_CREDENTIALS = 901

/**
 * Work may be shared by users with the same rights. If the node refuses the token of the one that started it, that says
 * nothing about the others.
 */
function isRefusal(error: unknown): boolean {
  return error instanceof EdgeError && error.code === REFUSED_CREDENTIALS
}

/**
 * Calls without a time limit, and calls with a name and a password, are shared only among their like. Calls with a token of
 * the manager are shared by users with the same rights, which are a part of the key.
 */
function flightId({ request, target }: ReadContext, epochs: string): string {
  const owner = request.caller.credentials === undefined ? '' : request.caller.name
  return `${target.key} ${epochs} ${request.waitForComplete} ${request.effort} ${owner}`
}

/** Fetches under the fetch lock, or returns what the replica that holds the lock has stored. */
async function fetchOverReplicas(
  ports: CachePorts,
  next: Handler<EdgeRead, ReadResponse>,
  context: ReadContext,
): Promise<FetchResult> {
  const { request, target } = context
  let { lookup } = context
  const known = lookup.kind === 'hit' ? lookup : undefined
  // A call without a time limit may take minutes: it neither holds a fetch lock nor waits for one.
  const attempts = request.waitForComplete || ports.neverCollapses ? 0 : MAX_LOCK_ATTEMPTS
  for (let attempt = 0; attempt < attempts && lookup.kind !== 'unavailable'; attempt += 1) {
    const lock = await ports.store.acquireFetchLock(
      // A client does not wait for a read of minutes.
      request.effort === 'complete' ? `${target.key} complete` : target.key,
      lookup.epochs,
      timeLimitOf(request, ports.limits()) + LOCK_GRACE_MS,
    )
    lookup = await ports.store.lookup(target.key, target.tags, lock.held)
    const found = storedMeanwhile(lookup, known)
    if (lock.held) {
      let storing: Promise<void> | undefined
      try {
        if (found !== undefined) return found
        const fetched = await callNodes(ports, next, context, lookup)
        storing = fetched.storing
        return await awaitStore(fetched)
      } finally {
        // Replicas that wait for the lock look the response up when the lock is released.
        void Promise.resolve(storing).then(() => lock.release())
      }
    }
    if (found !== undefined) return found
    await withTimeout(lock.settled, Number.POSITIVE_INFINITY, undefined, request.client.signal)
  }
  return awaitStore(await callNodes(ports, next, context, await ports.store.lookup(target.key, target.tags)))
}

/** Returns what another replica has stored since, if it is fresh and of another fetch than the response that is known. */
function storedMeanwhile(lookup: Lookup, known: AgedResponse | undefined): FetchResult | undefined {
  if (lookup.kind !== 'hit' || lookup.epochs.fenced) return undefined
  if (lookup.age >= lookup.response.ttl || (known !== undefined && isOfSameFetch(lookup, known))) return undefined
  return { kind: 'cacheable', response: responseOf(lookup, {}), entry: lookup, collapsed: true }
}

/** A v4 response may be older than `known` was when it was looked up: its fetch may have taken longer. */
function isOfSameFetch({ response: { fetchTime, body }, age }: AgedResponse, known: AgedResponse): boolean {
  return fetchTime === known.response.fetchTime && body.equals(known.response.body) && age >= known.age
}
