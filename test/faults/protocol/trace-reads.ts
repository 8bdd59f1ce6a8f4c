/**
 * Replays the reads of one key: lookups, calls of the node, and the values that clients received. An action that the trace
 * does not show is made as soon as it is possible: a response that is stored early only permits more reads to return it.
 */
import type { ClientRequest, TraceEvent } from './record.ts'
import { initialState, type Read } from './specification.ts'
import { type Execution, Impossible } from './trace-execution.ts'

/** A call of the node that has not been answered yet. */
interface Fetch {
  readonly id: string
  readonly replica: number
  /**
   * Numbers of the reads of the specification that may be this fetch. Each lookup of its replica since its client sent it
   * may be its own: the trace does not show for which request a replica looks up.
   */
  lookups: number[]
}

type NodeEvent = TraceEvent & { readonly kind: 'node' }

export class TraceReads {
  readonly #execution: Execution
  /** Calls of the node by their identity. */
  readonly #calls = new Map<string, NodeEvent[]>()
  #fetches: Fetch[] = []
  /** Reads that returned a value which the node did not return to them, with their replicas, until the value is found. */
  readonly #unserved = new Map<ClientRequest, number>()

  constructor(execution: Execution, key: string, events: readonly TraceEvent[]) {
    this.#execution = execution
    for (const event of events) {
      if (event.kind !== 'node' || event.path !== `/agents/${key}`) continue
      this.#calls.set(event.id, [...(this.#calls.get(event.id) ?? []), event])
    }
  }

  begin(request: ClientRequest): void {
    const { id = '', value, url, end } = request
    const replica = this.#execution.numberOf(url)
    // The edge repeats a call that failed, and it refreshes a response that it has returned.
    const calls = this.#calls.get(id) ?? []
    this.#fetches.push(...calls.map(() => ({ id, replica, lookups: [] })))
    const isAnswered = calls.some((call) => call.value === value && call.at <= end)
    if (value !== undefined && !isAnswered) this.#unserved.set(request, replica)
  }

  end(request: ClientRequest): void {
    const replica = this.#unserved.get(request)
    if (replica === undefined) return
    const read = `read through replica ${replica + 1}`
    throw new Impossible(`no ${read} returns ${request.value}: ${this.#execution.text()}`)
  }

  /** A lookup for any read of the replica, for a fetch, or before a response is stored. */
  lookUp(replica: number): void {
    if (this.#hitInRedis(replica, this.#execution.state.stored)) return
    for (const fetch of this.#fetches) {
      if (fetch.replica !== replica) continue
      this.#dropLookups(fetch)
      this.#beginFetch(fetch, 'miss')
    }
  }

  respond(id: string, value: number): void {
    const known = this.#fetches.find((fetch) => fetch.id === id)
    this.#fetches = this.#fetches.filter((fetch) => fetch !== known)
    // The client of an unknown call has no response. Any replica may have made the call, after a lookup just before it.
    const unknown = this.#execution.state.replicas.map((_, replica): Fetch => ({ id, replica, lookups: [] }))
    for (const fetch of known === undefined ? unknown : [known]) {
      if (known === undefined) this.#beginFetch(fetch, 'miss')
      if (fetch.lookups.length === 0) this.#beginFetch(fetch, 'no reply in time')
      for (const at of fetch.lookups) this.#answer(at, value)
      this.#answerJoined(fetch, value)
    }
  }

  /** Looks for an action that returns the value of each read that the node did not answer. */
  serve(): void {
    for (const [request, replica] of this.#unserved) {
      if (this.#hit(replica, request.value ?? -1)) this.#unserved.delete(request)
    }
  }

  /** Returns the number of a read of the specification that has not begun. */
  #freeRead(): number {
    const { reads } = this.#execution.state
    const found = reads.findIndex(({ step }) => step === 'none')
    return found < 0 ? reads.push(noRead()) - 1 : found
  }

  /** Before a further lookup: of the earlier ones, only one with another epoch may allow to store the response besides. */
  #dropLookups(fetch: Fetch): void {
    const { reads, epoch } = this.#execution.state
    const [useful] = fetch.lookups.filter((at) => {
      const read = reads[at] as Read
      return read.isUndisturbed && !read.isFenced && read.epoch !== epoch
    })
    for (const at of fetch.lookups) if (at !== useful) reads[at] = noRead()
    fetch.lookups = useful === undefined ? [] : [useful]
  }

  #beginFetch({ replica, lookups }: Fetch, how: 'miss' | 'no reply in time'): void {
    const at = this.#freeRead()
    if (this.#execution.try(`read ${at + 1}: through replica ${replica + 1}: ${how}`)) lookups.push(at)
  }

  #answer(at: number, value: number): void {
    const { state } = this.#execution
    const name = `read ${at + 1}`
    this.#execution.make(`${name}: the node responds`)
    const { value: found, epoch, isFenced, isUndisturbed } = state.reads[at] as Read
    if (found !== value) throw new Impossible(`the node responds with ${value}`)
    this.#execution.make(`${name}: returns ${value}, with the reads that joined it`)
    if (isFenced) return
    const replacesUsable = epoch !== state.epoch && state.storedEpoch === state.epoch
    if (replacesUsable || (epoch !== state.epoch && !isUndisturbed)) {
      // As if the fetch had not stored its response yet: no read could use it, now or later.
      state.reads[at] = noRead()
      return
    }
    this.#execution.make(`${name}: stores ${value}`)
    this.#execution.make(`${name}: stores ${value} locally`)
  }

  /** Reads that began before the node answered: as if each had made the call itself, and stored nothing. */
  #answerJoined({ id, replica }: Fetch, value: number): void {
    for (const [request, other] of this.#unserved) {
      if (other !== replica || request.value !== value) continue
      const joined: Fetch = { id, replica, lookups: [] }
      this.#beginFetch(joined, 'no reply in time')
      for (const at of joined.lookups) this.#answer(at, value)
      this.#unserved.delete(request)
    }
  }

  #hit(replica: number, value: number): boolean {
    const read = `read ${this.#freeRead() + 1}`
    const isLocal = this.#execution.try(`${read}: through replica ${replica + 1}: local hit, returns ${value}`)
    return isLocal || this.#hitInRedis(replica, value)
  }

  #hitInRedis(replica: number, value: number): boolean {
    const read = `read ${this.#freeRead() + 1}`
    if (!this.#execution.try(`${read}: through replica ${replica + 1}: hit, returns ${value}`)) return false
    this.#execution.make(`${read}: stores ${value} locally`)
    return true
  }
}

function noRead(): Read {
  return initialState({ replicas: 1, writers: 0, reads: 1 }).reads[0] as Read
}
