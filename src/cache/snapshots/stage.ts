/**
 * The part behind the cache that answers queries of a collection from a snapshot of all its rows. The head of a snapshot
 * is read through the cache under its own key, with the tags of its queries, so that epochs, fences, fetch locks,
 * refreshes and purges hold for it as for a response. A computed response is stored like a joined one, with
 * the age and the rest of the lifetime of its only part.
 */

import { DEFAULT_LIMIT, type PageWindow } from '../../collections/request.ts'
import { isNodeFailure } from '../../core/error-meanings.ts'
import { isPartial, partsOf } from '../../core/origins.ts'
import { createNoClient, type EdgeRead, type Handler, NO_COST } from '../../core/request.ts'
import type { CacheableResponse, EdgeResponse, ReadResponse, SnapshotResponse } from '../../core/response.ts'
import type { Lookup } from '../../core/stored-response.ts'
import { timeLimitOf, withTimeout } from '../../core/timing.ts'
import type { CacheTarget } from '../key.ts'
import { arrivalLimitOf } from '../read-context.ts'
import { createBuilder, type SnapshotPorts } from './build.ts'
import { type Computation, Computations, type StoredSource } from './computation.ts'
import { CoveringResponses } from './covering.ts'
import { computableOf, type Derivable, derivableOf } from './derivable.ts'
import { needsAllRows, rowSourceOf, selectsAllRows } from './derivation.ts'
import { parseHead } from './head.ts'
import { SnapshotRefusedError } from './read-collection.ts'
import { SnapshotDemands } from './snapshot-demands.ts'
import { isWhole, totalOf } from './whole-pages.ts'

export class Snapshots {
  readonly #ports: SnapshotPorts
  readonly #next: Handler<EdgeRead>
  readonly #read: Handler<EdgeRead, ReadResponse>
  readonly #demands: SnapshotDemands
  readonly #build: Handler<EdgeRead, SnapshotResponse>
  readonly #computations: Computations
  /** By the key of the collection. */
  readonly #building = new Map<string, Promise<boolean>>()
  readonly #covering: CoveringResponses

  /** `next` calls the nodes; `read` is the handler with the cache. */
  constructor(ports: SnapshotPorts, next: Handler<EdgeRead>, read: Handler<EdgeRead, ReadResponse>) {
    this.#ports = ports
    this.#next = next
    this.#read = read
    this.#demands = new SnapshotDemands(ports.clock, ports.nodeReads)
    this.#build = createBuilder(ports, this.#demands, next)
    this.#computations = new Computations(ports, (key) => this.#demands.noteAnswered(key))
    this.#covering = new CoveringResponses(ports)
  }

  /** Answers requests that the cache cannot answer: calls the nodes, for all rows or for the request itself. */
  readonly fetch: Handler<EdgeRead, ReadResponse> = (request) =>
    request.extent === 'allRows' ? this.#build(request) : this.#callNode(request)

  /**
   * Finds the snapshot that can answer a request; `undefined`: nodes must. Rejects as a fetch that the request waits for.
   * `source`: no fetch is made, so only what it returns is used.
   */
  find(request: EdgeRead, source?: StoredSource): Promise<Computation | undefined> | undefined {
    if (request.reuse === 'noCache') return undefined
    const derivable = (source === undefined ? derivableOf : computableOf)(this.#ports, request)
    if (derivable === undefined) return undefined
    return source === undefined ? this.#findSnapshot(derivable) : this.#findStored(derivable, source)
  }

  async #findStored(derivable: Derivable, source: StoredSource): Promise<Computation | undefined> {
    const stored = derivable.hasSnapshots ? await source.serve(derivable.target) : undefined
    const computation =
      stored?.kind === 'snapshot' ? await this.#computations.prepare(derivable, stored, source) : undefined
    if (computation !== undefined) return computation
    const covered = await this.#covering.find(derivable, source)
    const sole = { ...source, isLocal: true, isOnlySource: true } as const
    return covered && this.#computations.prepare(covered.derivable, covered.snapshot, sole)
  }

  async #findSnapshot(derivable: Derivable): Promise<Computation | undefined> {
    const { request, target, snapshot } = derivable
    const { key, policy } = target
    const lookup = await this.#ports.store.lookup(key, target.tags)
    if (lookup.kind === 'unavailable' || lookup.epochs.fenced) return undefined
    const total = lookup.kind === 'hit' ? parseHead(lookup.response)?.totalItems : undefined
    if (total !== undefined) this.#demands.noteTotal(key, total)
    const { ttl } = this.#ports.lifetimesOf(policy.group, policy.name)
    // Reads of the edge itself, such as those of the owners of all agents, demand nothing.
    if (arrivalLimitOf(request) === undefined) this.#demands.note(key, derivable.key, windowOf(request), ttl)
    if (!isServed(lookup, derivable) && !(await this.#mayRead(derivable))) return undefined
    const response = await this.#readSnapshot(snapshot, policy)
    if (response !== undefined && isCut(response) && this.#demands.isRepeatedlyCut(key))
      void this.#buildInBackground(snapshot, key)
    return response === undefined ? undefined : this.#computations.prepare(derivable, response)
  }

  /**
   * Whether a client waits for a new snapshot: if it takes as many calls as the request itself does, or if the pages that are
   * left of a walk would take more. Its other pages would be called while the snapshot is built.
   */
  async #mayRead({ target: { key, policy }, snapshot, request }: Derivable): Promise<boolean> {
    const { maxRows } = this.#ports.settings().snapshots
    const total = this.#demands.totalOf(key)
    // Each request for such a page has to collect all rows anyway.
    if (needsAllRows(policy, this.#ports.nodeReads()) && selectsAllRows(request))
      return !this.#demands.isRefused(key) && (total ?? 0) <= maxRows
    // Each part of a joined response would take a call more than the price of the read has for it.
    const isPart = request.deadline !== Number.POSITIVE_INFINITY
    if (isPart || !this.#demands.isWanted(key)) return false
    if (this.#demands.isOnePage(key)) return true
    const built = needsAllRows(policy, this.#ports.nodeReads()) ? undefined : this.#buildInBackground(snapshot, key)
    if (built === undefined || !this.#demands.savesWalk(key)) return false
    return withTimeout(built, timeLimitOf(request, this.#ports.limits()) / 2, false, request.client.signal)
  }

  /** Resolves to whether there is a snapshot; `undefined`: none is built now. */
  #buildInBackground(snapshot: EdgeRead, key: string): Promise<boolean> | undefined {
    const known = this.#building.get(key)
    if (known !== undefined || !this.#ports.hasIdleCapacity(snapshot)) return known
    const { trace, ...request } = snapshot
    const complete = { ...request, reuse: 'allowed', effort: 'complete', priority: 'bulk', cost: NO_COST } as const
    const built = Promise.resolve(this.#read({ ...complete, client: createNoClient() }))
      .then(
        () => true,
        () => false,
      )
      .finally(() => this.#building.delete(key))
    this.#building.set(key, built)
    return built
  }

  async #readSnapshot(snapshot: EdgeRead, policy: CacheTarget['policy']): Promise<SnapshotResponse | undefined> {
    try {
      const response = await this.#read(snapshot)
      // Rows that are missing because nodes fail would be missing in the response of the request itself too.
      if (response.kind !== 'snapshot') return undefined
      return response.cached !== undefined || isPartial(response) ? response : undefined
    } catch (fault) {
      // A node that cannot return all rows may still return the page.
      if (
        fault instanceof SnapshotRefusedError ||
        (isNodeFailure(fault) && !needsAllRows(policy, this.#ports.nodeReads()))
      )
        return undefined
      throw fault
    }
  }

  async #callNode(request: EdgeRead): Promise<EdgeResponse> {
    const response = await this.#next(request)
    if (response.kind === 'file') return response
    if (!selectsAllRows(request) && !rowSourceOf(request, this.#ports.nodeReads())?.pagesOnly) return response
    const derivable = computableOf(this.#ports, request)
    if (derivable === undefined) return response
    const { snapshot, target, hasSnapshots, derivation } = derivable
    if (isCut(response)) {
      if (hasSnapshots && this.#demands.isRepeatedlyCut(target.key)) void this.#buildInBackground(snapshot, target.key)
      return response
    }
    const total = totalOf(response.body, request)
    if (total === undefined) return response
    if (hasSnapshots) this.#demands.noteWhole(target.key, total)
    const { ttl, outage = 0 } = this.#ports.lifetimesOf(target.policy.group, target.policy.name)
    if (outage > 0 && isWhole(derivation, windowOf(request), total)) this.#covering.note(derivable, ttl + outage)
    return response
  }
}

/**
 * Whether the cache serves the stored snapshot without a call to the nodes. A stale one would be refreshed, which takes a
 * call for each agent; a query with a filter needs fewer.
 */
function isServed(lookup: Lookup, { request, snapshot, target: { policy } }: Derivable): boolean {
  if (lookup.kind !== 'hit') return false
  const { age, response } = lookup
  const { ttl, staleWhileRevalidate, fetchTime } = response
  const arrivedWithin = arrivalLimitOf(snapshot)
  if (arrivedWithin !== undefined && age - fetchTime >= arrivedWithin) return false
  return age < (policy.isJoined && !selectsAllRows(request) ? ttl : ttl + staleWhileRevalidate)
}

/** Returns the page that a request asks for. The node refuses values that are no numbers. */
function windowOf({ query: { offset, limit } }: EdgeRead): PageWindow {
  return { offset: Number(offset) || 0, limit: Number(limit) || DEFAULT_LIMIT }
}

/** Whether it lacks the rows of agents that would cost too many calls. */
function isCut({ origin }: CacheableResponse): boolean {
  return partsOf(origin).completeness === 'cut'
}
