/** The newest hits, which are too many for a record each. */
import type { RequestEvent } from '../../core/events.ts'

const MAX_HITS = 10_000

/**
 * Adding a hit copies its fields to a slot that is used again. The event itself is not kept: the collector of garbage
 * would copy each of them twice before it is replaced.
 */
export function createHitRing() {
  const slots: (Slot | undefined)[] = new Array(MAX_HITS).fill(undefined)
  let next = 0
  /** Returns the hits since this time, newest first. */
  function* newest(oldestAt: number): Generator<RequestEvent> {
    for (let step = 1; step <= MAX_HITS; step++) {
      const slot = slots[(next - step + MAX_HITS) % MAX_HITS]
      if (slot === undefined || slot.at < oldestAt) return
      yield slot.read()
    }
  }
  return {
    newest,
    add(event: RequestEvent): void {
      const slot = slots[next] ?? new Slot()
      slots[next] = slot
      slot.write(event)
      next = (next + 1) % MAX_HITS
    },
    find(id: string): RequestEvent | undefined {
      for (const found of newest(0)) if (found.requestId === id) return found
      return undefined
    },
    /** Releases the hits from before this time. */
    forget(oldestAt: number): void {
      for (const [at, slot] of slots.entries()) if (slot !== undefined && slot.at < oldestAt) slots[at] = undefined
    },
  }
}

/** Has each field of an event from the start, so that all slots have the same hidden class. */
class Slot {
  at = 0
  endedAt = 0
  requestId = ''
  method = ''
  route = ''
  path: string | undefined = undefined
  group = ''
  status = 0
  ms = 0
  bytes = 0
  cache: RequestEvent['cache'] = 'hit'
  fetchTime: number | undefined = undefined
  cacheStatus: RequestEvent['cacheStatus'] = undefined
  errorCode: number | undefined = undefined
  caller: string | undefined = undefined
  client = ''
  traceId: string | undefined = undefined
  rejectedWith: number | undefined = undefined

  /** Field by field: `Object.assign` takes several times as long. */
  write(event: RequestEvent): void {
    this.at = event.at
    this.endedAt = event.endedAt
    this.requestId = event.requestId
    this.method = event.method
    this.route = event.route
    this.path = event.path
    this.group = event.group
    this.status = event.status
    this.ms = event.ms
    this.bytes = event.bytes
    this.cache = event.cache
    this.fetchTime = event.fetchTime
    this.cacheStatus = event.cacheStatus
    this.errorCode = event.errorCode
    this.caller = event.caller
    this.client = event.client
    this.traceId = event.traceId
    this.rejectedWith = event.rejectedWith
  }

  read(): RequestEvent {
    return { ...this }
  }
}
