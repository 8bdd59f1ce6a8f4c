/**
 * Checks that a recorded run of real replicas is an execution of the specification. For each key, the state of the
 * specification makes the action that each event must be. An event that is no possible action is a violation.
 *
 * What a trace does not show is inserted, as late as possible:
 * - a message is lost; a reply is received; a writer gives up (its client received 930 or 943, or it lifts its fence);
 * - a lease ends when a writer has to find it ended, after the registration in Redis has expired;
 * - the lookup of a fetch is the last one of its replica before the call, and without one: no reply in time;
 * - a fetch returns when its client has the response, or earlier if another read needs its value.
 * A trace has no loss of data: MONITOR ends with Redis.
 */
import type { Recording, TraceEvent } from './record.ts'
import { Execution, Impossible } from './trace-execution.ts'
import { TraceReads } from './trace-reads.ts'
import { TraceWrites } from './trace-writes.ts'

export interface TraceReport {
  readonly events: number
  /** Actions of the specification that were made, by their names without numbers. */
  readonly actions: ReadonlyMap<string, number>
  /** For each key whose events are no execution: the first event that is impossible, after the last ones before it. */
  readonly violations: readonly (readonly string[])[]
}

const SHOWN_EVENTS = 15
export function checkTrace({ events }: Recording): TraceReport {
  const made = new Map<string, number>()
  const keys = new Set(events.flatMap((event) => (event.kind === 'begin' ? [event.request.key] : [])))
  const replicas = replicasOf(events)
  const violations = [...keys].flatMap((key) => {
    const shown: string[] = []
    const replay = new Replay(key, events, new Execution(replicas, made))
    for (const event of events) {
      try {
        if (replay.take(event)) shown.push(textOf(event))
      } catch (error) {
        if (!(error instanceof Impossible)) throw error
        return [[...shown.slice(-SHOWN_EVENTS), textOf(event), `key ${key}: ${error.message}`]]
      }
    }
    return []
  })
  return { events: events.length, actions: made, violations }
}

/** Numbers of replicas by their names in Redis, and by their URLs: the fence of a write has its path as a tag. */
function replicasOf(events: readonly TraceEvent[]): ReadonlyMap<string, number> {
  const numbers = new Map<string, number>()
  const urls = new Map<string, string>()
  for (const event of events) {
    if (event.kind === 'heartbeat' && !numbers.has(event.replica)) numbers.set(event.replica, numbers.size)
    if (event.kind === 'begin') urls.set(event.request.path.split('/')[4] ?? '', event.request.url)
  }
  const free = new Set(numbers.values())
  const named = new Map<string, number>()
  for (const event of events) {
    if (event.kind !== 'change') continue
    const url = urls.get(event.change.fence.find((tag) => tag.startsWith('group:'))?.slice('group:'.length) ?? '-')
    const number = numbers.get(event.writer)
    if (url === undefined || number === undefined) continue
    named.set(url, number)
    free.delete(number)
  }
  // A replica that has set no fence.
  for (const url of new Set(urls.values())) {
    if (named.has(url)) continue
    const [number = 0] = free
    free.delete(number)
    named.set(url, number)
  }
  return new Map([...numbers, ...named])
}
class Replay {
  readonly #key: string
  readonly #execution: Execution
  readonly #writes: TraceWrites
  readonly #reads: TraceReads

  constructor(key: string, events: readonly TraceEvent[], execution: Execution) {
    this.#key = key
    this.#execution = execution
    this.#writes = new TraceWrites(execution, key, events)
    this.#reads = new TraceReads(execution, events)
  }

  /** Returns whether the event concerns this key. Throws `Impossible`. */
  take(event: TraceEvent): boolean {
    this.#execution.now = event.at
    const isOwn = this.#apply(event)
    if (isOwn) this.#reads.serve()
    return isOwn
  }

  #apply(event: TraceEvent): boolean {
    if (event.kind === 'heartbeat') this.#execution.register(event.replica, event.lease)
    else if (event.kind === 'acknowledgement') return this.#writes.acknowledge(event)
    else if (event.kind === 'change') return this.#writes.change(event)
    else if (event.kind === 'lookup') {
      if (event.key !== this.#key) return false
      this.#reads.lookUp(this.#execution.numberOf(event.replica))
      return true
    } else if (event.kind === 'node') {
      const [, , key, group] = event.path.split('/')
      if (key !== this.#key) return false
      if (group === undefined) this.#reads.respond(event.id, event.value)
      else this.#writes.carryOut(event.path, event.value)
      return true
    } else {
      const { request } = event
      if (request.key !== this.#key) return false
      if (request.method === 'PUT') this.#writes.handle(event.kind, request)
      else if (event.kind === 'begin') this.#reads.begin(request)
      else this.#reads.end(request)
      return true
    }
    return false
  }
}

function textOf({ at, ...event }: TraceEvent): string {
  const { kind, ...rest } = 'request' in event ? { kind: event.kind, ...event.request } : event
  return `${at.toFixed(3)} ${kind} ${JSON.stringify(rest)}`
}
