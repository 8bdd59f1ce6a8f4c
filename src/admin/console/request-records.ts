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
  const running = new Map<string, RequestRecord>()
  const others = new Map<string, RequestRecord>()
  let bytes = 0
  let onEnd: Parameters<RequestRecords['observe']>[0]
  const timer = setInterval(() => sweep(), SWEEP_INTERVAL_MS)
  timer.unref()

  const grow = (record: RequestRecord, by: number): void => {
    record.bytes += by
    bytes += by
    while (bytes > MAX_BYTES && discardOldest(others.size > 0 ? others : running));
  }
  const discardOldest = (records: Map<string, RequestRecord>): boolean => {
    const { value: oldest } = records.values().next()
    if (oldest === undefined) return false
    discard(records, oldest)
    return true
  }
  const discard = (records: Map<string, RequestRecord>, record: RequestRecord): void => {
    // Also one that is discarded already: the oldest record must leave the map, or the search for room would not end.
    if (records.get(record.id) === record) records.delete(record.id)
    if (record.isDiscarded) return
    record.isDiscarded = true
    bytes -= record.bytes
  }
  const recordOf = (id: string): RequestRecord => {
    const known = running.get(id)
    if (known !== undefined) return known
    const record: RequestRecord = { id, startedAt: elapsed(), stages: [], calls: [], omitted: 0, bytes: 0 }
    running.set(id, record)
    grow(record, RECORD_BYTES)
    if (running.size > MAX_IN_PROGRESS) discardOldest(running)
    return record
  }
  const addItem = <Item>(record: RequestRecord, items: Item[], item: Item): void => {
    if (record.isDiscarded) return
    if (record.stages.length + record.calls.length >= MAX_ITEMS) record.omitted += 1
    else {
      items.push(item)
      grow(record, ITEM_BYTES)
    }
  }
  const sweep = (): void => {
    const [oldestAt, now] = [clock() - MAX_AGE_MS, elapsed()]
    requests.forget(oldestAt)
    for (const { finished } of others.values()) {
      if (finished === undefined || finished.at >= oldestAt) break
      discardOldest(others)
    }
    for (const { startedAt } of running.values()) {
      if (startedAt >= now - MAX_AGE_MS) break
      discardOldest(running)
    }
  }
  return {
    nodeCall(event) {
      const record = others.get(event.requestId) ?? recordOf(event.requestId)
      addItem(record, record.calls, { at: elapsed(), event })
    },
    join(event) {
      const record = others.get(event.requestId) ?? recordOf(event.requestId)
      record.join = event
      grow(record, PART_BYTES * event.nodes.length)
    },
    recordStages(requestId, trace) {
      const record = recordOf(requestId)
      const addStage = (stage: StageRecord) => addItem(record, record.stages, stage)
      return recordStagesIn({ now: elapsed, addStage }, trace)
    },
    observe: (next) => {
      onEnd = next
    },
    request(event) {
      if (event.cache === 'hit') {
        // Prepared hits, which are most of them, have no record.
        const record = running.size === 0 ? undefined : running.get(event.requestId)
        if (record !== undefined) discard(running, record)
        onEnd?.(event, undefined)
        return
      }
      const record = recordOf(event.requestId)
      running.delete(record.id)
      const earlier = others.get(record.id)
      if (earlier !== undefined) discard(others, earlier)
      record.finished = { ...event }
      others.set(record.id, record)
      if (others.size > MAX_OTHERS) discardOldest(others)
      onEnd?.(event, record)
    },
    last(matches, limit) {
      requests.drain()
      const oldestAt = clock() - MAX_AGE_MS
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
      const oldestAt = clock() - MAX_AGE_MS
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
