/**
 * The last requests, for the live tail and for the details of one request. All in memory, for ten minutes, and bounded:
 * hits by the number of all requests after them, other requests by their own number and bytes. A hit has no record: its
 * fields are those in the ring of the last requests.
 */
import type { EventListeners, JoinEvent, NodeCallEvent, RequestEvent } from '../../../src/core/events.ts'
import { systemClock } from '../../../src/core/timing.ts'
import type { Span, SpanAttributes, StageName, Trace } from '../../../src/core/trace.ts'
import type { LastRequests } from '../../../src/status/edge-view.ts'
import type { TailRequest } from './request-types.ts'

/** A stage as it was measured. Times are of the monotonic clock, in milliseconds. */
export interface StageRecord {
  readonly name: string
  /** The stage around this one. */
  readonly parent: StageRecord | undefined
  readonly startedAt: number
  endedAt?: number
  attributes: SpanAttributes
}

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

export interface RecordsOptions {
  /** Milliseconds since 1970. */
  readonly clock?: () => number
  /** Monotonic milliseconds. */
  readonly elapsed?: () => number
}

const MAX_AGE_MS = 10 * 60_000
const SWEEP_INTERVAL_MS = 30_000
const MAX_ENDED = 5000
const DISCARDED_AT_ONCE = 250
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

/** Records requests in progress, and ended ones other than hits, bounded in number, bytes and age. */
export class RequestRecords implements Required<Pick<EventListeners, 'request' | 'nodeCall' | 'join'>> {
  readonly #requests: LastRequests
  readonly #clock: () => number
  readonly #elapsed: () => number
  readonly #timer: NodeJS.Timeout
  readonly #running = new Map<string, RequestRecord>()
  readonly #ended = new Map<string, RequestRecord>()
  #bytes = 0
  #onEnd: ((event: RequestEvent, measured: Measurements | undefined) => void) | undefined

  constructor(requests: LastRequests, { clock = Date.now, elapsed = systemClock.elapsed }: RecordsOptions = {}) {
    this.#requests = requests
    this.#clock = clock
    this.#elapsed = elapsed
    this.#timer = setInterval(() => this.#discardOld(), SWEEP_INTERVAL_MS).unref()
  }

  request(event: RequestEvent): void {
    if (event.cache === 'hit') {
      // Prepared hits, which are most of them, have no record.
      const record = this.#running.size === 0 ? undefined : this.#running.get(event.requestId)
      if (record !== undefined) this.#discard(this.#running, record)
      this.#onEnd?.(event, undefined)
      return
    }
    const record = this.#runningOf(event.requestId)
    this.#running.delete(record.id)
    const earlier = this.#ended.get(record.id)
    if (earlier !== undefined) this.#discard(this.#ended, earlier)
    record.finished = { ...event }
    this.#ended.set(record.id, record)
    // Many at once: a map finds its first key behind those of all that were deleted lately.
    if (this.#ended.size >= MAX_ENDED + DISCARDED_AT_ONCE) this.#discardFirst(this.#ended, DISCARDED_AT_ONCE)
    this.#onEnd?.(event, record)
  }

  nodeCall(event: NodeCallEvent, at = this.#elapsed()): void {
    const record = this.#recordOf(event.requestId)
    this.#addItem(record, record.calls, { at, event })
  }

  join(event: JoinEvent): void {
    const record = this.#recordOf(event.requestId)
    record.join = event
    this.#grow(record, PART_BYTES * event.nodes.length)
  }

  readonly recordStages = (requestId: string, trace: Span | undefined): Span => {
    const record = this.#runningOf(requestId)
    const addStage = (stage: StageRecord) => this.#addItem(record, record.stages, stage)
    return new RecordedSpan({ now: this.#elapsed, addStage }, trace)
  }

  /** Calls the function for each request that ends from now on, instead of an earlier function. */
  observe(onEnd: ((event: RequestEvent, measured: Measurements | undefined) => void) | undefined): void {
    this.#onEnd = onEnd
  }

  /** Returns the newest requests that match, oldest first. */
  last(matches: (request: TailRequest) => boolean, limit: number): TailRequest[] {
    this.#requests.drain()
    const oldestAt = this.#oldestTime()
    const found: TailRequest[] = []
    for (const event of this.#requests.newest(oldestAt)) {
      if (event.cache !== 'hit') continue
      const request = tailRequestOf(event)
      if (matches(request) && found.push(request) >= limit) break
    }
    const foundHits = found.length
    for (const record of [...this.#ended.values()].reverse()) {
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
  }

  find(id: string): FoundRequest | undefined {
    this.#requests.drain()
    const record = this.#ended.get(id)
    const event = record?.finished ?? this.#requests.find(id)
    if (event === undefined || event.at < this.#oldestTime()) return undefined
    // Of another request than a hit, nothing is left if its record was discarded.
    if (record === undefined && event.cache !== 'hit') return undefined
    const measured = record ?? this.#running.get(id)
    return measured === undefined ? { event } : { event, measured }
  }

  close(): void {
    clearInterval(this.#timer)
  }

  #oldestTime(): number {
    return this.#clock() - MAX_AGE_MS
  }

  /** Returns the record of a request, which may have ended; a new one if there is none. */
  #recordOf(id: string): RequestRecord {
    return this.#ended.get(id) ?? this.#runningOf(id)
  }

  /** A request that has ended may have begun again under the same id. */
  #runningOf(id: string): RequestRecord {
    const known = this.#running.get(id)
    if (known !== undefined) return known
    const record: RequestRecord = { id, startedAt: this.#elapsed(), stages: [], calls: [], omitted: 0, bytes: 0 }
    this.#running.set(id, record)
    this.#grow(record, RECORD_BYTES)
    if (this.#running.size > MAX_IN_PROGRESS) this.#discardOldest(this.#running)
    return record
  }

  #addItem<Item>(record: RequestRecord, items: Item[], item: Item): void {
    if (record.isDiscarded) return
    if (record.stages.length + record.calls.length >= MAX_ITEMS) record.omitted += 1
    else {
      items.push(item)
      this.#grow(record, ITEM_BYTES)
    }
  }

  #grow(record: RequestRecord, by: number): void {
    record.bytes += by
    this.#bytes += by
    while (this.#bytes > MAX_BYTES && this.#discardOldest(this.#ended.size > 0 ? this.#ended : this.#running));
  }

  #discardOldest(records: Map<string, RequestRecord>): boolean {
    return this.#discardFirst(records, 1)
  }

  /** Returns whether there was a record. */
  #discardFirst(records: Map<string, RequestRecord>, count: number): boolean {
    let left = count
    for (const record of records.values()) {
      this.#discard(records, record)
      left -= 1
      if (left === 0) break
    }
    return left < count
  }

  #discard(records: Map<string, RequestRecord>, record: RequestRecord): void {
    // Also one that is discarded already: the oldest record must leave the map, or the search for room would not end.
    if (records.get(record.id) === record) records.delete(record.id)
    if (record.isDiscarded) return
    record.isDiscarded = true
    this.#bytes -= record.bytes
  }

  #discardOld(): void {
    const oldestAt = this.#oldestTime()
    this.#requests.forget(oldestAt)
    for (const { finished } of this.#ended.values()) {
      if (finished === undefined || finished.at >= oldestAt) break
      this.#discardOldest(this.#ended)
    }
    const startedAt = this.#elapsed() - MAX_AGE_MS
    for (const record of this.#running.values()) {
      if (record.startedAt >= startedAt) break
      this.#discardOldest(this.#running)
    }
  }
}

/** Where the stages of a request are added when they begin. `now`: monotonic milliseconds. */
interface StageSink {
  readonly now: () => number
  readonly addStage: (stage: StageRecord) => void
}

/** Records stages, and passes each on to the trace of the request if it has one (`inner`). */
class RecordedSpan implements Span {
  readonly recorded = true
  readonly traceId: Trace['traceId']
  readonly parent: Trace['parent']
  readonly state: Trace['state']
  readonly #sink: StageSink
  readonly #inner: Span | undefined
  readonly #stage: StageRecord | undefined

  /** `stage`: absent for the request itself, which is no stage. */
  constructor(sink: StageSink, inner: Span | undefined, stage?: StageRecord) {
    this.#sink = sink
    this.#inner = inner
    this.#stage = stage
    this.traceId = inner?.traceId
    this.parent = inner?.parent
    this.state = inner?.state
  }

  startSpan(name: StageName, attributes: SpanAttributes = {}): Span {
    return this.#start(name, attributes, this.#inner?.startSpan(name, attributes))
  }

  startCallSpan(attributes: SpanAttributes): Span {
    return this.#start('call', attributes, this.#inner?.startCallSpan(attributes))
  }

  startLinkedTrace(name: StageName): Span {
    return this.#start(name, {}, this.#inner?.startLinkedTrace(name))
  }

  end(attributes: SpanAttributes = {}): void {
    if (this.#stage !== undefined) {
      this.#stage.endedAt = this.#sink.now()
      this.#stage.attributes = { ...this.#stage.attributes, ...attributes }
    }
    this.#inner?.end(attributes)
  }

  #start(name: string, attributes: SpanAttributes, inner: Span | undefined): Span {
    const stage: StageRecord = { name, parent: this.#stage, startedAt: this.#sink.now(), attributes }
    this.#sink.addStage(stage)
    return new RecordedSpan(this.#sink, inner, stage)
  }
}

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
