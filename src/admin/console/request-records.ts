/**
 * The last requests, for the live tail and for the details of one request. All in memory, for ten minutes, and bounded:
 * hits by the number of all requests after them, other requests by their own number and bytes. A hit has no record: its
 * fields are those in the ring of the last requests.
 */
import type { EventListeners, JoinEvent, NodeCallEvent, RequestEvent } from '../../core/events.ts'
import type { RecordStages } from '../../core/trace.ts'
import type { TailRequest } from './request-types.ts'
import { recordStagesIn, type StageRecord } from './stage-recorder.ts'

/** What was measured of a request. */
export interface Measurements {
  readonly stages: StageRecord[]
  /** `at`: the end of the call, in monotonic milliseconds. */
  readonly calls: { readonly at: number; readonly event: NodeCallEvent }[]
  join?: JoinEvent
  /** Number of stages and calls beyond the limit. */
  omitted: number
}

export interface FoundRequest {
  readonly event: RequestEvent
  /** Absent: nothing was measured, as for a hit. */
  readonly measured?: Measurements
}

/** The last requests of this process, in the order of their end. */
export interface LastRequests {
  /** Passes the requests that have ended to their listeners, which otherwise get them at the end of this turn. */
  drain(): void
  /** Returns the requests since this time (milliseconds since 1970), newest first. */
  newest(oldestAt: number): Iterable<RequestEvent>
  find(id: string): RequestEvent | undefined
  /** Releases the requests from before this time. */
  forget(oldestAt: number): void
}

export interface RequestRecords extends Required<Pick<EventListeners, 'request' | 'nodeCall' | 'join'>> {
  /** Calls the function for each request that ends from now on, instead of an earlier function. */
  observe(onEnd: ((event: RequestEvent, measured: Measurements | undefined) => void) | undefined): void
  /** Returns the newest requests that match, oldest first. */
  last(matches: (request: TailRequest) => boolean, limit: number): TailRequest[]
  find(id: string): FoundRequest | undefined
  readonly recordStages: RecordStages
  close(): void
}

export interface RecordsOptions {
  /** Milliseconds since 1970. */
  readonly clock?: () => number
  /** Monotonic milliseconds. */
  readonly elapsed?: () => number
}

const MAX_AGE_MS = 10 * 60_000
const SWEEP_INTERVAL_MS = 30_000
const MAX_OTHERS = 5000
/** Requests in progress, and work in the background that no request waits for. */
const MAX_IN_PROGRESS = 2000
/** Estimated bytes of all records except hits. */
const MAX_BYTES = 16 * 1024 * 1024
/** Stages and calls of one request; further ones are only counted. */
const MAX_ITEMS = 300
/** Estimated bytes of a record, of one of its stages or calls, and of the part of one node in a joined response. */
const RECORD_BYTES = 700
const ITEM_BYTES = 250
const PART_BYTES = 120

interface RequestRecord extends Measurements {
  readonly id: string
  readonly startedAt: number
  bytes: number
  finished?: RequestEvent
  /** The record was discarded: what is still measured of it is not stored. */
  isDiscarded?: true
}

export function createRequestRecords(
  requests: LastRequests,
  { clock = Date.now, elapsed = () => performance.now() }: RecordsOptions = {},
): RequestRecords {
  const book = new RecordBook(elapsed)
  const { running, others } = book
  const oldestTime = () => clock() - MAX_AGE_MS
  let onEnd: Parameters<RequestRecords['observe']>[0]
  const timer = setInterval(() => {
    requests.forget(oldestTime())
    book.discardEndedBefore(oldestTime())
  }, SWEEP_INTERVAL_MS)
  timer.unref()
  return {
    nodeCall(event) {
      const record = book.of(event.requestId)
      book.addItem(record, record.calls, { at: elapsed(), event })
    },
    join(event) {
      const record = book.of(event.requestId)
      record.join = event
      book.grow(record, PART_BYTES * event.nodes.length)
    },
    recordStages(requestId, trace) {
      const record = book.runningOf(requestId)
      const addStage = (stage: StageRecord) => book.addItem(record, record.stages, stage)
      return recordStagesIn({ now: elapsed, addStage }, trace)
    },
    observe: (next) => {
      onEnd = next
    },
    request(event) {
      if (event.cache === 'hit') {
        // Prepared hits, which are most of them, have no record.
        const record = running.size === 0 ? undefined : running.get(event.requestId)
        if (record !== undefined) book.discard(running, record)
        onEnd?.(event, undefined)
        return
      }
      const record = book.runningOf(event.requestId)
      book.end(record, event)
      onEnd?.(event, record)
    },
    last(matches, limit) {
      requests.drain()
      const oldestAt = oldestTime()
      const found: TailRequest[] = []
      for (const event of requests.newest(oldestAt)) {
        if (event.cache !== 'hit') continue
        const request = tailRequestOf(event)
        if (matches(request) && found.push(request) >= limit) break
      }
      const foundHits = found.length
      for (const record of [...others.values()].reverse()) {
        const { finished } = record
        if (finished === undefined || finished.at < oldestAt || found.length - foundHits >= limit) break
        const request = tailRequestOf(finished, record)
        if (matches(request)) found.push(request)
      }
      // Both parts begin with the newest, and requests of the same millisecond keep their order.
      return found
        .sort((a, b) => b.at - a.at)
        .slice(0, limit)
        .reverse()
    },
    find(id) {
      requests.drain()
      const oldestAt = oldestTime()
      const record = others.get(id)
      const event = record?.finished ?? requests.find(id)
      // Of another request than a hit, nothing is left if its record was discarded.
      if (event === undefined || event.at < oldestAt || (record === undefined && event.cache !== 'hit'))
        return undefined
      const measured = record ?? running.get(id)
      return measured === undefined ? { event } : { event, measured }
    },
    close: () => clearInterval(timer),
  }
}

/** The records of requests in progress, and of ended ones other than hits, bounded in number, bytes and age. */
class RecordBook {
  readonly running = new Map<string, RequestRecord>()
  readonly others = new Map<string, RequestRecord>()
  readonly #elapsed: () => number
  #bytes = 0

  constructor(elapsed: () => number) {
    this.#elapsed = elapsed
  }

  /** Returns the record of a request, which may have ended; a new one if there is none. */
  of(id: string): RequestRecord {
    return this.others.get(id) ?? this.runningOf(id)
  }

  /** A request that has ended may have begun again under the same id. */
  runningOf(id: string): RequestRecord {
    const known = this.running.get(id)
    if (known !== undefined) return known
    const record: RequestRecord = { id, startedAt: this.#elapsed(), stages: [], calls: [], omitted: 0, bytes: 0 }
    this.running.set(id, record)
    this.grow(record, RECORD_BYTES)
    if (this.running.size > MAX_IN_PROGRESS) this.discardOldest(this.running)
    return record
  }

  addItem<Item>(record: RequestRecord, items: Item[], item: Item): void {
    if (record.isDiscarded) return
    if (record.stages.length + record.calls.length >= MAX_ITEMS) record.omitted += 1
    else {
      items.push(item)
      this.grow(record, ITEM_BYTES)
    }
  }

  grow(record: RequestRecord, by: number): void {
    record.bytes += by
    this.#bytes += by
    while (this.#bytes > MAX_BYTES && this.discardOldest(this.others.size > 0 ? this.others : this.running));
  }

  discardOldest(records: Map<string, RequestRecord>): boolean {
    const { value: oldest } = records.values().next()
    if (oldest === undefined) return false
    this.discard(records, oldest)
    return true
  }

  discard(records: Map<string, RequestRecord>, record: RequestRecord): void {
    // Also one that is discarded already: the oldest record must leave the map, or the search for room would not end.
    if (records.get(record.id) === record) records.delete(record.id)
    if (record.isDiscarded) return
    record.isDiscarded = true
    this.#bytes -= record.bytes
  }

  end(record: RequestRecord, event: RequestEvent): void {
    this.running.delete(record.id)
    const earlier = this.others.get(record.id)
    if (earlier !== undefined) this.discard(this.others, earlier)
    record.finished = { ...event }
    this.others.set(record.id, record)
    if (this.others.size > MAX_OTHERS) this.discardOldest(this.others)
  }

  /** `oldestAt`: milliseconds since 1970. */
  discardEndedBefore(oldestAt: number): void {
    for (const { finished } of this.others.values()) {
      if (finished === undefined || finished.at >= oldestAt) break
      this.discardOldest(this.others)
    }
    const startedAt = this.#elapsed() - MAX_AGE_MS
    for (const record of this.running.values()) {
      if (record.startedAt >= startedAt) break
      this.discardOldest(this.running)
    }
  }
}

/** Returns the request as the live tail shows it. */
export function tailRequestOf(event: RequestEvent, measured?: Measurements): TailRequest {
  const { requestId: id, at, method, route, path, status, ms, bytes, cache, caller, client } = event
  const request = { id, at, method, route, status, ms, bytes, cache, user: caller ?? '–', client }
  // The response to a hit came from no node; a refresh in the background may call one.
  const nodes = cache === 'hit' ? [] : (measured?.calls.map(({ event: { node } }) => node) ?? [])
  return {
    ...request,
    ...(path !== undefined && { path }),
    ...(nodes.length > 0 && { node: [...new Set(nodes)].join(', ') }),
  }
}
