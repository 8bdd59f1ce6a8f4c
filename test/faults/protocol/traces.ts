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
import type { ClientRequest, EpochChange, Recording, TraceEvent } from './record.ts'
import type { Setting } from './settings.ts'
import { actions, initialState, isStale, type Replica, type State, type Write } from './specification.ts'

export interface TraceReport {
  readonly events: number
  /** Actions of the specification that were made, by their names without numbers. */
  readonly actions: ReadonlyMap<string, number>
  /** For each key whose events are no execution: the first event that is impossible, after the last ones before it. */
  readonly violations: readonly (readonly string[])[]
}

const SHOWN_EVENTS = 15
/** The tags of every entry of a register, beside its own. */
const SHARED_TAGS = ['cache', 'cache:agents', 'cache:/agents/:agent_id', 'agent:*']

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

interface TraceWrite {
  readonly index: number
  request: ClientRequest | undefined
  /** Of its last command that Redis has processed: its sequence, and when the leases that it found end. */
  sequence: number
  leasesUntil: readonly number[]
}

/** An event that is no possible action. */
class Impossible extends Error {}

export function checkTrace({ events }: Recording): TraceReport {
  const made = new Map<string, number>()
  const keys = new Set(events.flatMap((event) => (event.kind === 'begin' ? [event.request.key] : [])))
  const replicas = replicasOf(events)
  const violations = [...keys].flatMap((key) => {
    const shown: string[] = []
    const replay = new Replay(key, events, replicas, made)
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
  readonly #replicas: ReadonlyMap<string, number>
  readonly #made: Map<string, number>
  readonly #setting: Setting
  readonly #state: State
  /** When the registration of each replica ends. */
  readonly #registeredUntil: number[]
  readonly #writes = new Map<string, TraceWrite>()
  /** Writes by the identity of their fence. */
  readonly #fences = new Map<string, TraceWrite>()
  readonly #reads = new Map<ClientRequest | string, TraceRead>()
  readonly #calls: ReadonlySet<string>
  readonly #lifted: ReadonlySet<string>
  #now = 0
  #lastLookup = 0

  constructor(
    key: string,
    events: readonly TraceEvent[],
    replicas: ReadonlyMap<string, number>,
    made: Map<string, number>,
  ) {
    this.#key = key
    this.#replicas = replicas
    this.#made = made
    const count = new Set(replicas.values()).size
    this.#setting = { replicas: count, writers: 0, reads: 0, links: true }
    this.#state = initialState(this.#setting)
    for (const replica of this.#state.replicas) Object.assign(replica, { hasLease: false, isRegistered: false })
    this.#registeredUntil = new Array(count).fill(0)
    this.#calls = new Set(events.flatMap((event) => (event.kind === 'node' ? [event.id] : [])))
    this.#lifted = new Set(
      events.flatMap((event) => (event.kind === 'change' && isLift(event.change) ? [event.change.id] : [])),
    )
  }

  /** Returns whether the event concerns this key. Throws `Impossible`. */
  take(event: TraceEvent): boolean {
    this.#now = event.at
    const isOwn = this.#apply(event)
    if (isOwn) this.#serve()
    return isOwn
  }

  #apply(event: TraceEvent): boolean {
    if (event.kind === 'heartbeat') this.#register(event.replica, event.lease)
    else if (event.kind === 'acknowledgement') return this.#acknowledge(event)
    else if (event.kind === 'change') return this.#change(event)
    else if (event.kind === 'lookup') {
      if (event.key !== this.#key) return false
      this.#lookUp(this.#numberOf(event.replica))
      return true
    } else if (event.kind === 'node') {
      const [, , key, group] = event.path.split('/')
      if (key !== this.#key) return false
      if (group === undefined) this.#respond(event.id, event.value)
      else this.#carryOut(event.path, event.value)
      return true
    } else {
      const { request } = event
      if (request.key !== this.#key) return false
      if (request.method === 'PUT') this.#request(event.kind, request)
      else if (event.kind === 'begin') this.#beginRead(request)
      else this.#endRead(request)
      return true
    }
    return false
  }

  /** Makes one action of the specification. Returns false if it is not possible. */
  #try(name: string): boolean {
    for (const [possible, change] of actions(this.#state, this.#setting)) {
      if (possible !== name) continue
      const returned = change(this.#state)
      const kind = name.replaceAll(/\d+/g, '#')
      this.#made.set(kind, (this.#made.get(kind) ?? 0) + 1)
      if (returned !== undefined && isStale(returned)) {
        throw new Impossible(`"${name}": ${returned.floor} was acknowledged or returned before`)
      }
      return true
    }
    return false
  }

  #make(name: string): void {
    if (!this.#try(name)) throw new Impossible(`the specification has no "${name}" now: ${this.#text()}`)
  }

  #text(): string {
    const { writes, replicas, epoch, stored, storedEpoch } = this.#state
    const busy = writes.map((write, at) => ({ number: at + 1, ...write })).filter(({ step }) => step !== 'acknowledged')
    return JSON.stringify({ epoch, stored, storedEpoch, replicas, writes: busy.slice(-4) })
  }

  #numberOf(name: string): number {
    const number = this.#replicas.get(name)
    if (number === undefined) throw new Error(`there is no replica ${name}`)
    return number
  }

  #register(name: string, lease: number): void {
    if (lease <= 0) return
    const replica = this.#numberOf(name)
    this.#registeredUntil[replica] = Math.max(this.#registeredUntil[replica] ?? 0, this.#now + lease)
    if (!this.#replicaAt(replica).hasLease) this.#make(`replica ${replica + 1}: a new lease`)
  }

  #replicaAt(replica: number): Replica {
    return this.#state.replicas[replica] as Replica
  }

  /** Makes the leases end that a change no longer finds. A lease without a change meanwhile need not have ended. */
  #endLeases(): void {
    for (const [at, { hasLease }] of this.#state.replicas.entries()) {
      if (hasLease && this.#now > (this.#registeredUntil[at] ?? 0)) this.#make(`replica ${at + 1}: its lease ends`)
    }
  }

  #stateOf({ index }: TraceWrite): Write {
    return this.#state.writes[index] as Write
  }

  #makeWrite(write: TraceWrite, action: string): void {
    this.#make(`write ${write.index + 1}: ${action}`)
  }

  #addWrite(replica: number): TraceWrite {
    const [write] = initialState({ replicas: 1, writers: 1 }).writes
    const index = this.#state.writes.push({ ...(write as Write), replica }) - 1
    return { index, request: undefined, sequence: 0, leasesUntil: [] }
  }

  /** BUMP_EPOCHS. Redis has processed it now. */
  #change({ writer, change, sequence }: TraceEvent & { readonly kind: 'change' }): boolean {
    const { bump, fence, lift, id } = change
    const tag = `agent:${this.#key}`
    if ([bump, fence, lift].every((tags) => !tags.includes(tag))) {
      if (bump.some((each) => SHARED_TAGS.includes(each))) this.#state.epoch += 1
      return false
    }
    const path = `/agents/${this.#key}/group/${[...fence, ...lift].find((each) => each.startsWith('group:'))?.slice(6)}`
    const write = this.#fences.get(id) ?? this.#writes.get(path)
    if (id === '' || write === undefined) {
      // A pending invalidation: it only makes a stored response unusable.
      this.#state.epoch += 1
      return true
    }
    this.#endLeases()
    this.#fences.set(id, write)
    this.#stateOf(write).replica = this.#numberOf(writer)
    if (fence.length > 0) this.#setFence(write)
    else this.#liftFence(write, bump.length > 0)
    write.sequence = sequence
    write.leasesUntil = [...this.#registeredUntil]
    return true
  }

  #setFence(write: TraceWrite): void {
    const own = this.#stateOf(write)
    if (own.step === 'new') this.#makeWrite(write, 'sends its fence')
    if (own.hasReply) this.#makeWrite(write, 'the reply is lost')
    if (own.inFlight === 'nothing' && own.step === 'fencing') this.#makeWrite(write, 'sends its fence again')
    // Sent earlier, or again: to renew it, or because its outcome is unknown.
    own.inFlight = 'fence'
    this.#makeWrite(write, 'Redis processes its fence')
  }

  #liftFence(write: TraceWrite, isBump: boolean): void {
    const own = this.#stateOf(write)
    if (own.step === 'fencing') this.#giveUp(write, 'fence')
    if (!isBump && (own.step === 'carried out' || own.step === 'lifting')) this.#giveUp(write, 'lift')
    if (own.step === 'refused' || own.step === 'unconfirmed') {
      if (own.isFenced) this.#makeWrite(write, 'its fence is lifted late, or its lease ends')
      this.#state.epoch += 1
      return
    }
    if (own.step === 'lifting') {
      if (own.hasReply) this.#makeWrite(write, 'the reply is lost')
      if (own.inFlight === 'nothing') this.#makeWrite(write, 'sends its lift again')
    } else if (own.step !== 'lifted' && own.step !== 'acknowledged') this.#makeWrite(write, 'sends its lift')
    else own.inFlight = 'lift'
    this.#makeWrite(write, 'Redis processes its lift')
  }

  #giveUp(write: TraceWrite, command: 'fence' | 'lift'): void {
    const own = this.#stateOf(write)
    const wanted = command === 'fence' ? ['new', 'fencing'] : ['carried out', 'lifting']
    if (own.step === wanted[0]) this.#makeWrite(write, `sends its ${command}`)
    this.#makeWrite(write, `gives up its ${command}`)
  }

  /** A replica acknowledges an invalidation, and thereby all before it. */
  #acknowledge({ replica, writer, sequence }: TraceEvent & { readonly kind: 'acknowledgement' }): boolean {
    const number = this.#numberOf(replica)
    let isOwn = false
    for (const write of this.#writes.values()) {
      const { awaited, replica: own } = this.#stateOf(write)
      if (own !== this.#numberOf(writer) || sequence < write.sequence || (awaited & (1 << number)) === 0) continue
      this.#make(`replica ${number + 1}: acknowledges write ${write.index + 1}`)
      isOwn = true
    }
    return isOwn
  }

  /** Inserts the end of the leases that a writer has found, if they can have ended. */
  #awaitLeases(write: TraceWrite): void {
    for (const [at, { hasLease }] of this.#state.replicas.entries()) {
      if ((this.#stateOf(write).awaited & (1 << at)) === 0 || this.#now < (write.leasesUntil[at] ?? 0)) continue
      if (hasLease) this.#make(`replica ${at + 1}: its lease ends`)
      if (this.#now <= (this.#registeredUntil[at] ?? 0)) this.#make(`replica ${at + 1}: a new lease`)
    }
  }

  #carryOut(path: string, value: number): void {
    const write = this.#writes.get(path)
    if (write === undefined) throw new Impossible(`no client has sent ${path}`)
    const own = this.#stateOf(write)
    if (own.step === 'no response') {
      this.#makeWrite(write, 'the node carries it out late')
    } else {
      if (own.hasReply) this.#makeWrite(write, 'receives the reply')
      this.#awaitLeases(write)
      this.#makeWrite(write, this.#isUnknown(write) ? 'the node does not respond' : 'the node carries it out')
      if (this.#isUnknown(write)) this.#makeWrite(write, 'the node carries it out late')
    }
    if (this.#state.carriedOut !== value) throw new Impossible(`the node has the value ${value}`)
  }

  /** The writer received no response from the node. If the client has none, the trace shows it by a lift. */
  #isUnknown(write: TraceWrite): boolean {
    const { request } = write
    if (request === undefined || request.status === 200 || [930, 943].includes(request.code)) return false
    if (request.status !== 0) return true
    return ![...this.#fences].some(([id, each]) => each === write && this.#lifted.has(id))
  }

  #request(kind: 'begin' | 'end', request: ClientRequest): void {
    if (kind === 'begin') {
      const added = this.#addWrite(this.#numberOf(request.url))
      added.request = request
      this.#writes.set(request.path, added)
      return
    }
    const write = this.#writes.get(request.path) as TraceWrite
    const own = this.#stateOf(write)
    if (request.status === 200) {
      if (own.hasReply) this.#makeWrite(write, 'receives the reply')
      this.#awaitLeases(write)
      this.#makeWrite(write, `is acknowledged with ${request.value}`)
    } else if (request.code === 930 && own.step !== 'refused') this.#giveUp(write, 'fence')
    else if (request.code === 943 && own.step !== 'unconfirmed') this.#giveUp(write, 'lift')
  }

  #beginRead(request: ClientRequest): void {
    const { id, value, url } = request
    const isCall = id !== undefined && this.#calls.has(id)
    if (value === undefined && !isCall) return
    this.#reads.set(request, this.#newRead(this.#numberOf(url), value, isCall ? id : undefined))
  }

  #newRead(replica: number, value: number | undefined, id: string | undefined): TraceRead {
    return { replica, value, id, slot: -1, isCalled: false, isReturned: false }
  }

  /** Gives a read a free place in the state. */
  #slotFor(read: TraceRead): string {
    if (read.slot < 0) {
      const used = new Set([...this.#reads.values()].map(({ slot }) => slot))
      read.slot = this.#state.reads.findIndex(({ step }, at) => step === 'none' && !used.has(at))
      if (read.slot < 0)
        read.slot =
          this.#state.reads.push(initialState({ replicas: 1, writers: 0, reads: 1 }).reads[0] as State['reads'][0]) - 1
    }
    return `read ${read.slot + 1}`
  }

  #lookUp(replica: number): void {
    this.#lastLookup = replica
    for (const read of this.#reads.values()) {
      if (read.id === undefined || read.isCalled || read.replica !== replica) continue
      const name = this.#slotFor(read)
      this.#freeSlot(read)
      const place = `${name}: through replica ${replica + 1}`
      if (!this.#try(`${place}: miss`)) this.#make(`${place}: no reply in time`)
    }
  }

  #freeSlot({ slot }: TraceRead): void {
    this.#state.reads[slot] = initialState({ replicas: 1, writers: 0, reads: 1 }).reads[0] as State['reads'][0]
  }

  /** The node responds to a read. */
  #respond(id: string, value: number): void {
    let read = [...this.#reads.values()].find((each) => each.id === id)
    if (read === undefined) {
      read = this.#newRead(this.#lastLookup, value, id)
      this.#reads.set(id, read)
      this.#lookUp(this.#lastLookup)
    }
    // A call that is repeated.
    if (read.isCalled) return
    const name = this.#slotFor(read)
    if (this.#state.reads[read.slot]?.step === 'none')
      this.#make(`${name}: through replica ${read.replica + 1}: no reply in time`)
    this.#make(`${name}: the node responds`)
    read.isCalled = true
    if (this.#state.reads[read.slot]?.value !== value) throw new Impossible(`the node responds with ${value}`)
    for (const other of this.#reads.values()) if (isShared(other, read, value)) this.#shareCall(other)
  }

  /** A read that began before the call and returns its value: as if it had made the call itself, and stored nothing. */
  #shareCall(read: TraceRead): void {
    const name = this.#slotFor(read)
    this.#make(`${name}: through replica ${read.replica + 1}: no reply in time`)
    this.#make(`${name}: the node responds`)
    this.#finish(read)
    read.slot = -1
  }

  /** A fetch returns, for the reads that joined it too. What is stored with older epochs is never used. */
  #finish(read: TraceRead): void {
    if (read.isReturned) return
    const name = this.#slotFor(read)
    const { value, epoch } = this.#state.reads[read.slot] as State['reads'][0]
    this.#make(`${name}: returns ${value}, with the reads that joined it`)
    if (epoch === this.#state.epoch) {
      this.#try(`${name}: stores ${value}`)
      this.#try(`${name}: stores ${value} locally`)
    }
    this.#freeSlot(read)
    read.isReturned = true
  }

  /** Looks for an action that returns the value of each read that did not call the node. */
  #serve(): void {
    for (const read of this.#reads.values()) {
      if (read.id === undefined && !read.isReturned) read.isReturned = this.#hit(read)
    }
  }

  #hit(read: TraceRead): boolean {
    const { replica, value } = read
    const name = `${this.#slotFor(read)}: through replica ${replica + 1}`
    const hits = () => this.#try(`${name}: local hit, returns ${value}`) || this.#try(`${name}: hit, returns ${value}`)
    const slot = read.slot
    let isHit = hits()
    for (const fetch of isHit ? [] : this.#reads.values()) {
      if (!fetch.isCalled || fetch.isReturned || this.#state.reads[fetch.slot]?.value !== value) continue
      this.#finish(fetch)
      isHit = read.isReturned || hits()
      if (isHit) break
    }
    if (isHit) this.#try(`read ${slot + 1}: stores ${value} locally`)
    read.slot = -1
    return isHit
  }

  #endRead(request: ClientRequest): void {
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
      this.#serve()
      this.#reads.delete(request)
      if (!read.isReturned)
        throw new Impossible(`no read through replica ${read.replica + 1} returns ${read.value}: ${this.#text()}`)
    }
  }
}

function isShared(read: TraceRead, caller: TraceRead, value: number): boolean {
  return read.id === undefined && !read.isReturned && read.replica === caller.replica && read.value === value
}

function isLift({ bump, lift }: EpochChange): boolean {
  return lift.length > 0 && bump.length > 0
}

function textOf({ at, ...event }: TraceEvent): string {
  const { kind, ...rest } = 'request' in event ? { kind: event.kind, ...event.request } : event
  return `${at.toFixed(3)} ${kind} ${JSON.stringify(rest)}`
}
