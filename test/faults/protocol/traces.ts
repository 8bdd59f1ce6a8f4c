/**
 * Checks that a recorded run of real replicas is an execution of the specification. For each key, the state of the
 * specification makes the action that each event must be. An event that is no possible action is a violation.
 *
 * What a trace does not show is inserted where it permits most:
 * - a message is lost; a reply is received; a writer gives up (its client received 930 or 943, or it lifts its fence);
 * - the lease of a replica ends before a change that does not find it, or when a writer has to find it ended, and begins
 *   again at once: a replica that has no lease merely does not use what the specification permits;
 * - a fetch may be that of each lookup of its replica before its call, and without one: no reply in time;
 * - a fetch returns and stores as soon as the node has responded. The edge does so later, at the latest when its client has
 *   the response; an invalidation meanwhile empties the local tier in either order;
 * - each lookup that finds a stored response stores it locally: a replica also looks up before it stores a response.
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
  const urls = new Set<string>()
  const urlOfWrite = new Map<string, string>()
  for (const event of events) {
    if (event.kind === 'heartbeat' && !numbers.has(event.replica)) numbers.set(event.replica, numbers.size)
    if (event.kind !== 'begin') continue
    const { method, path, url } = event.request
    urls.add(url)
    if (method === 'PUT') urlOfWrite.set(`group:${path.split('/')[4]}`, url)
  }
  const named = new Map<string, number>()
  for (const event of events) {
    if (event.kind !== 'change') continue
    const { fence, lift } = event.change
    const url = urlOfWrite.get([...fence, ...lift].find((tag) => tag.startsWith('group:')) ?? '')
    const number = numbers.get(event.writer)
    if (url !== undefined && number !== undefined) named.set(url, number)
  }
  // Replicas that have changed nothing.
  const used = new Set(named.values())
  const free = [...numbers.values()].filter((number) => !used.has(number))
  for (const url of urls) if (!named.has(url)) named.set(url, free.shift() ?? 0)
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
    this.#reads = new TraceReads(execution, key, events)
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
