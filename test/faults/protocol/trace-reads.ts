/** Replays the reads of one key: lookups, calls of the node, and the values that clients received. */
import type { ClientRequest, TraceEvent } from './record.ts'
import { initialState, type Read } from './specification.ts'
import { type Execution, Impossible } from './trace-execution.ts'

/** A read of a client, or (without one) of a replica that refreshes an entry. */
interface TraceRead {
  readonly replica: number
  /** Absent: unknown, any value of the node is right. */
  readonly value: number | undefined
  /** The identity of its call; absent: it did not call the node. */
  readonly id: string | undefined
  /** Its place in the state; -1: not begun. */
  slot: number
  isCalled: boolean
  isReturned: boolean
}

export class TraceReads {
  readonly #execution: Execution
  readonly #reads = new Map<ClientRequest | string, TraceRead>()
  readonly #calls: ReadonlySet<string>
  #lastLookup = 0

  constructor(execution: Execution, events: readonly TraceEvent[]) {
    this.#execution = execution
    this.#calls = new Set(events.flatMap((event) => (event.kind === 'node' ? [event.id] : [])))
  }

  begin(request: ClientRequest): void {
    const { id, value, url } = request
    const isCall = id !== undefined && this.#calls.has(id)
    if (value === undefined && !isCall) return
    this.#reads.set(request, this.#newRead(this.#execution.numberOf(url), value, isCall ? id : undefined))
  }

  end(request: ClientRequest): void {
    const read = this.#reads.get(request)
    if (read === undefined) return
    this.#reads.delete(request)
    if (read.isReturned) return
    if (read.isCalled) {
      this.#reads.set(request, read)
      this.#finish(read)
      this.#reads.delete(request)
    } else if (read.id === undefined) {
      this.#reads.set(request, read)
      this.serve()
      this.#reads.delete(request)
      if (!read.isReturned)
        throw new Impossible(
          `no read through replica ${read.replica + 1} returns ${read.value}: ${this.#execution.text()}`,
        )
    }
  }

  lookUp(replica: number): void {
    this.#lastLookup = replica
    for (const read of this.#reads.values()) {
      if (read.id === undefined || read.isCalled || read.replica !== replica) continue
      const name = this.#slotFor(read)
      this.#freeSlot(read)
      const place = `${name}: through replica ${replica + 1}`
      if (!this.#execution.try(`${place}: miss`)) this.#execution.make(`${place}: no reply in time`)
    }
  }

  /** The node responds to a read. */
  respond(id: string, value: number): void {
    let read = [...this.#reads.values()].find((each) => each.id === id)
    if (read === undefined) {
      read = this.#newRead(this.#lastLookup, value, id)
      this.#reads.set(id, read)
      this.lookUp(this.#lastLookup)
    }
    // A call that is repeated.
    if (read.isCalled) return
    const name = this.#slotFor(read)
    if (this.#execution.state.reads[read.slot]?.step === 'none')
      this.#execution.make(`${name}: through replica ${read.replica + 1}: no reply in time`)
    this.#execution.make(`${name}: the node responds`)
    read.isCalled = true
    if (this.#execution.state.reads[read.slot]?.value !== value) throw new Impossible(`the node responds with ${value}`)
    for (const other of this.#reads.values()) if (isShared(other, read, value)) this.#shareCall(other)
  }

  /** Looks for an action that returns the value of each read that did not call the node. */
  serve(): void {
    for (const read of this.#reads.values()) {
      if (read.id === undefined && !read.isReturned) read.isReturned = this.#hit(read)
    }
  }

  #newRead(replica: number, value: number | undefined, id: string | undefined): TraceRead {
    return { replica, value, id, slot: -1, isCalled: false, isReturned: false }
  }

  /** Gives a read a free place in the state. */
  #slotFor(read: TraceRead): string {
    if (read.slot < 0) {
      const used = new Set([...this.#reads.values()].map(({ slot }) => slot))
      read.slot = this.#execution.state.reads.findIndex(({ step }, at) => step === 'none' && !used.has(at))
      if (read.slot < 0)
        read.slot =
          this.#execution.state.reads.push(initialState({ replicas: 1, writers: 0, reads: 1 }).reads[0] as Read) - 1
    }
    return `read ${read.slot + 1}`
  }

  #freeSlot({ slot }: TraceRead): void {
    this.#execution.state.reads[slot] = initialState({ replicas: 1, writers: 0, reads: 1 }).reads[0] as Read
  }

  /** A read that began before the call and returns its value: as if it had made the call itself, and stored nothing. */
  #shareCall(read: TraceRead): void {
    const name = this.#slotFor(read)
    this.#execution.make(`${name}: through replica ${read.replica + 1}: no reply in time`)
    this.#execution.make(`${name}: the node responds`)
    this.#finish(read)
    read.slot = -1
  }

  /** A fetch returns, for the reads that joined it too. What is stored with older epochs is never used. */
  #finish(read: TraceRead): void {
    if (read.isReturned) return
    const name = this.#slotFor(read)
    const { value, epoch } = this.#execution.state.reads[read.slot] as Read
    this.#execution.make(`${name}: returns ${value}, with the reads that joined it`)
    if (epoch === this.#execution.state.epoch) {
      this.#execution.try(`${name}: stores ${value}`)
      this.#execution.try(`${name}: stores ${value} locally`)
    }
    this.#freeSlot(read)
    read.isReturned = true
  }

  #hit(read: TraceRead): boolean {
    const { replica, value } = read
    const name = `${this.#slotFor(read)}: through replica ${replica + 1}`
    const hits = () =>
      this.#execution.try(`${name}: local hit, returns ${value}`) ||
      this.#execution.try(`${name}: hit, returns ${value}`)
    const slot = read.slot
    let isHit = hits()
    for (const fetch of isHit ? [] : this.#reads.values()) {
      if (!fetch.isCalled || fetch.isReturned || this.#execution.state.reads[fetch.slot]?.value !== value) continue
      this.#finish(fetch)
      isHit = read.isReturned || hits()
      if (isHit) break
    }
    if (isHit) this.#execution.try(`read ${slot + 1}: stores ${value} locally`)
    read.slot = -1
    return isHit
  }
}

function isShared(read: TraceRead, caller: TraceRead, value: number): boolean {
  return read.id === undefined && !read.isReturned && read.replica === caller.replica && read.value === value
}
