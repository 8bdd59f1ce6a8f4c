/**
 * Fetches a response that the cache cannot serve. Identical requests (`flightId`) share one call to the nodes: within the
 * process by single flight, over all replicas by a fetch lock. The epochs of the response's tags, read before the call, decide
 * which requests may share it and whether the response may be stored.
 */
import { nodeFailureOf } from '../core/error-meanings.ts'
import { AbandonedError } from '../core/presence.ts'
import type { EdgeRead, Handler } from '../core/request.ts'
import type { ReadResponse } from '../core/response.ts'
import { tracedSeparately } from '../core/traced.ts'
import { callNodes } from './call-nodes.ts'
import { FetchOutcomes, NO_NODE } from './fetch-outcomes.ts'
import { fetchOverReplicas } from './fetch-over-replicas.ts'
import { flightId, isRefusal, workOf } from './fetch-sharing.ts'
import { lateAfter } from './late-fetches.ts'
import { type CachePorts, computesResponses, type FetchResult, type ReadContext } from './read-context.ts'
import { type Shared, SingleFlight } from './single-flight.ts'
import type { StoredSource } from './snapshots/computation.ts'
import type { Snapshots } from './snapshots/stage.ts'
import { awaitStore, storeResponse } from './store-response.ts'

/**
 * After a failed fetch, stale responses are served this long without waiting for another one, while refreshes try the
 * nodes: the next fetch may be slow to fail.
 */
const RECENT_FAILURE_MS = 5000
/** Refreshes at once during an outage, and at its end. */
const MAX_OUTAGE_REFRESHES = 4

const nothingToRefresh = Promise.resolve()

export class Fetcher {
  readonly #ports: CachePorts
  readonly #next: Handler<EdgeRead>
  readonly #snapshots: Snapshots
  readonly #flights = new SingleFlight<FetchResult>(isRefusal)
  readonly #computations = new SingleFlight<FetchResult | undefined>(isRefusal)
  readonly #outcomes: FetchOutcomes
  readonly #refreshing = new Set<string>()

  /** `next` calls the nodes. */
  constructor(ports: CachePorts, next: Handler<EdgeRead>, snapshots: Snapshots) {
    this.#ports = ports
    this.#next = next
    this.#snapshots = snapshots
    this.#outcomes = new FetchOutcomes(ports)
  }

  /**
   * Returns the error with which nodes failed to answer this request, if it is recent or a refresh tries them again; while no
   * node can be called, also if this request was not among those that failed.
   */
  recentFailure({ target: { key }, request, lookup }: ReadContext): number | undefined {
    if (this.#ports.outageFor?.() !== undefined) return NO_NODE
    // After an outage, the calls are left to responses that are refreshed first.
    const isWaiting = this.#outcomes.isInOutage(lookup) && !this.#ports.hasIdleCapacity(request)
    if (isWaiting) return this.#outcomes.lastFailure(key) ?? NO_NODE
    return this.#outcomes.lastFailure(key, this.#refreshing.has(key) ? Number.POSITIVE_INFINITY : RECENT_FAILURE_MS)
  }

  /**
   * Whether the last fetch was answered with an error, although a stored response could have been served stale; of a
   * response that is served stale only while it is hot, also whether the last fetch failed.
   */
  wasRefused({ target }: ReadContext): boolean {
    return this.#outcomes.isRefused(target.key)
  }

  /** Whether the fetch of the response, or another one from the node that is asked first, takes longer than usual. */
  isLate(context: ReadContext): boolean {
    const { lateFetches, waitForRead } = this.#ports
    return lateFetches.isLate(this.#lateKeyOf(context), waitForRead(context.request, 0))
  }

  /** Answers from a snapshot that `source` serves. Resolves to undefined if there is none. */
  computeStored(context: ReadContext, source: StoredSource): Promise<FetchResult | undefined> {
    return this.#compute(context, source).catch(() => undefined)
  }

  /** Shares any call in flight for the same epochs. */
  async fetchShared(context: ReadContext): Promise<FetchResult> {
    const computed = context.target.policy.snapshot && (await this.#compute(context))
    if (computed !== undefined) return computed
    const work = workOf(context, (own) => this.#fetch(own, this.#handlerFor(own)), true)
    const shared = flightId(context)
    const id = this.#ports.neverCollapses ? `${shared} ${context.request.requestId}` : shared
    return this.#resultOf(await this.#flights.join(id, context.request.client, work), context)
  }

  /** Shares only a call that starts from now on; `store`: whether its response may be stored. */
  async fetchLatest(context: ReadContext, store: boolean): Promise<FetchResult> {
    const run = async (own: ReadContext) => {
      const lookup = store ? await this.#ports.store.lookup(own.target.key, own.target.tags) : own.lookup
      return awaitStore(await callNodes(this.#ports, this.#handlerFor(own), own, lookup))
    }
    const id = flightId(context, 'latest')
    const { client } = context.request
    return this.#resultOf(await this.#flights.joinNext(id, client, workOf(context, run, store)), context)
  }

  /** Fetches for later requests, if `mayRefresh` holds. Never rejects. */
  refresh(context: ReadContext): Promise<void> {
    const { key } = context.target
    if (!this.mayRefresh(context)) return nothingToRefresh
    this.#refreshing.add(key)
    const effort = context.request.extent === 'allRows' ? 'complete' : 'bounded'
    const request: EdgeRead = { ...context.request, waitForComplete: false, effort }
    const limited = { ...context, request }
    const run = async (own: ReadContext) =>
      (await this.#compute(own)) ?? (await this.#fetch(own, tracedSeparately('refresh', this.#handlerFor(own))))
    const work = workOf(limited, run, true)
    return this.#flights.background(flightId(limited), work).finally(() => this.#refreshing.delete(key))
  }

  /**
   * Whether no refresh is under way, and no fetch within the last second failed or gave a response that may not be stored.
   * Each stale hit comes here, so it must cost little while a refresh is under way.
   */
  mayRefresh({ target: { key } }: ReadContext): boolean {
    if (this.#refreshing.has(key) || this.#outcomes.isPaused(key)) return false
    // All responses are stale at the end of an outage: they are refreshed in the order in which they are requested.
    return !this.#outcomes.isInOutage() || this.#refreshing.size < MAX_OUTAGE_REFRESHES
  }

  /** A collection has a stage that notes its totals for snapshots, and which of its responses has all rows for an outage. */
  #handlerFor(context: ReadContext): Handler<EdgeRead, ReadResponse> {
    return computesResponses(context) ? this.#snapshots.fetch : this.#next
  }

  /**
   * Answers from a snapshot of the collection. Resolves to undefined if the nodes must answer. `source`: serves a stored one
   * beyond its time; absent: a snapshot that is fresh, or is fetched.
   */
  async #compute(context: ReadContext, source?: StoredSource): Promise<FetchResult | undefined> {
    const { snapshot, rows } = context.target.policy
    if ((source === undefined ? snapshot : rows) === undefined) return undefined
    if (context.lookup.kind === 'unavailable' && source === undefined) return undefined
    const { clock } = this.#ports
    const started = clock()
    const computation = await this.#snapshots.find(context.request, source)
    if (computation === undefined) return undefined
    const run = async (): Promise<FetchResult | undefined> => {
      const response = await computation.run(started)
      if (response === undefined) return undefined
      const fetchTime = clock() - started
      const fetched = await storeResponse(this.#ports, context, { lookup: context.lookup, response, fetchTime })
      // The next request must compute it again, but each stale hit until then must not.
      if (fetched.storing === undefined) this.#outcomes.pause(context.target.key)
      return awaitStore(fetched)
    }
    const onStart = () => {
      if (computation.isCostly) context.request.cost.charge()
    }
    const work = { onStart, run, continuesWithoutCallers: true }
    const suffix = source === undefined ? '' : ` stored${source.isOnlySource ? ', no other source' : ''}`
    const id = `${flightId(context)}${suffix}`
    // Without its flow: the request needs no node.
    const { signal, presence } = context.request.client
    return (await this.#computations.join(id, { signal, ...(presence && { presence }) }, work)).value
  }

  /** Fetches over all replicas, and notes how it ended. */
  async #fetch(context: ReadContext, handler: Handler<EdgeRead, ReadResponse>): Promise<FetchResult> {
    const { effort, waitForComplete } = context.request
    // A read of many calls may take minutes although its nodes are fast.
    const isLong = effort === 'complete' || waitForComplete
    const { lateFetches } = this.#ports
    const end = isLong ? () => undefined : lateFetches.begin(this.#lateKeyOf(context), lateAfter(context.lookup))
    try {
      const result = await fetchOverReplicas(this.#ports, handler, context)
      end(result.kind !== 'failed')
      this.#outcomes.note(context, result)
      return result
    } catch (fault) {
      const code = nodeFailureOf(fault)
      end(code === undefined)
      // A call that no client awaits was not sent.
      if (code !== undefined && !(fault instanceof AbandonedError)) this.#outcomes.noteFailure(context, code)
      throw fault
    }
  }

  /** Returns what is late with a fetch: the node that is asked first, or only the response if that node is not known. */
  #lateKeyOf({ request, target }: ReadContext): string {
    return this.#ports.firstNode(request) ?? target.key
  }

  #resultOf({ value, collapsed }: Shared<FetchResult>, { target }: ReadContext): FetchResult {
    if (!collapsed) return value
    this.#ports.onEvent({ kind: 'collapsed', group: target.policy.group })
    return { ...value, collapsed }
  }
}
