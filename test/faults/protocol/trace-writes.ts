/** Replays the writes of one key: changes of epochs and fences, acknowledgements, calls of the node, and their clients. */
import type { ClientRequest, EpochChange, TraceEvent } from './record.ts'
import { initialState, type Write } from './specification.ts'
import { type Execution, Impossible } from './trace-execution.ts'

/** The tags of every entry of a register, beside its own. */
const SHARED_TAGS = ['cache', 'cache:agents', 'cache:/agents/:agent_id', 'agent:*']

interface TraceWrite {
  readonly index: number
  request: ClientRequest | undefined
  /** Of its last command that Redis has processed: its sequence, and when the leases that it found end. */
  sequence: number
  leasesUntil: readonly number[]
}

export class TraceWrites {
  readonly #execution: Execution
  readonly #key: string
  readonly #writes = new Map<string, TraceWrite>()
  /** Writes by the identity of their fence. */
  readonly #fences = new Map<string, TraceWrite>()
  /** The last command of each fence that sets it, and the last one that lifts it and invalidates its tags. */
  readonly #lastFences = new Map<string, EpochChange>()
  readonly #lastLifts = new Map<string, EpochChange>()

  constructor(execution: Execution, key: string, events: readonly TraceEvent[]) {
    this.#execution = execution
    this.#key = key
    for (const event of events) {
      if (event.kind !== 'change') continue
      const { change } = event
      if (change.fence.length > 0) this.#lastFences.set(change.id, change)
      if (isLift(change)) this.#lastLifts.set(change.id, change)
    }
  }

  /** BUMP_EPOCHS. Redis has processed it now. */
  change({ writer, change, sequence }: TraceEvent & { readonly kind: 'change' }): boolean {
    const { bump, fence, lift, id } = change
    const tag = `agent:${this.#key}`
    if ([bump, fence, lift].every((tags) => !tags.includes(tag))) {
      if (bump.some((each) => SHARED_TAGS.includes(each))) this.#execution.state.epoch += 1
      return false
    }
    const path = `/agents/${this.#key}/group/${[...fence, ...lift].find((each) => each.startsWith('group:'))?.slice(6)}`
    const write = this.#fences.get(id) ?? this.#writes.get(path)
    if (id === '' || write === undefined) {
      // A pending invalidation: it only makes a stored response unusable.
      this.#execution.state.epoch += 1
      return true
    }
    this.#fences.set(id, write)
    this.#stateOf(write).replica = this.#execution.numberOf(writer)
    const { isFenced, awaited } = this.#stateOf(write)
    this.#execution.withoutExpiredLeases(() => {
      if (fence.length > 0) this.#setFence(write)
      else this.#liftFence(write, bump.length > 0)
    })
    this.#endWait(write, change)
    if (isFenced && fence.length > 0) {
      // Its writer waits for the acknowledgements of the first fence only: since then, nothing could be stored locally.
      this.#stateOf(write).awaited &= awaited
      return true
    }
    write.sequence = sequence
    write.leasesUntil = [...this.#execution.registeredUntil]
    return true
  }

  /** A replica acknowledges an invalidation, and thereby all before it. */
  acknowledge({ replica, writer, sequence }: TraceEvent & { readonly kind: 'acknowledgement' }): boolean {
    const number = this.#execution.numberOf(replica)
    let isOwn = false
    for (const write of this.#writes.values()) {
      const { awaited, replica: own } = this.#stateOf(write)
      if (own !== this.#execution.numberOf(writer) || sequence < write.sequence || (awaited & (1 << number)) === 0)
        continue
      this.#execution.make(`replica ${number + 1}: acknowledges write ${write.index + 1}`)
      isOwn = true
    }
    return isOwn
  }

  carryOut(path: string, value: number): void {
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
    if (this.#execution.state.carriedOut !== value) throw new Impossible(`the node has the value ${value}`)
  }

  handle(kind: 'begin' | 'end', request: ClientRequest): void {
    if (kind === 'begin') {
      const added = this.#addWrite(this.#execution.numberOf(request.url))
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

  #stateOf({ index }: TraceWrite): Write {
    return this.#execution.state.writes[index] as Write
  }

  #makeWrite(write: TraceWrite, action: string): void {
    this.#execution.make(`write ${write.index + 1}: ${action}`)
  }

  #addWrite(replica: number): TraceWrite {
    const [write] = initialState({ replicas: 1, writers: 1 }).writes
    const index = this.#execution.state.writes.push({ ...(write as Write), replica }) - 1
    return { index, request: undefined, sequence: 0, leasesUntil: [] }
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
    if (own.step === 'fencing' || (own.step === 'new' && !isBump)) this.#giveUp(write, 'fence')
    if (!isBump && (own.step === 'carried out' || own.step === 'lifting')) this.#giveUp(write, 'lift')
    if (own.step === 'refused' || own.step === 'unconfirmed') {
      if (own.isFenced) this.#makeWrite(write, 'its fence is lifted late, or its lease ends')
      if (isBump) this.#execution.state.epoch += 1
      return
    }
    if (own.step === 'lifting') {
      if (own.hasReply) this.#makeWrite(write, 'the reply is lost')
      if (own.inFlight === 'nothing') this.#makeWrite(write, 'sends its lift again')
    } else if (own.step !== 'lifted' && own.step !== 'acknowledged') this.#makeWrite(write, 'sends its lift')
    else own.inFlight = 'lift'
    this.#makeWrite(write, 'Redis processes its lift')
  }

  /**
   * After the last command of a writer, its replica forgets the epochs once more: when it receives the reply, or gives up.
   * As early as possible, since what it looks up afterwards stays in its local tier.
   */
  #endWait(write: TraceWrite, change: EpochChange): void {
    const { step, hasReply } = this.#stateOf(write)
    const { status, code } = write.request ?? {}
    const isLastLift = step === 'lifting' && this.#lastLifts.get(change.id) === change
    if (code === 930 && step === 'fencing' && this.#lastFences.get(change.id) === change) this.#giveUp(write, 'fence')
    else if (code === 943 && isLastLift) this.#giveUp(write, 'lift')
    else if (status === 200 && isLastLift && hasReply) this.#makeWrite(write, 'receives the reply')
  }

  #giveUp(write: TraceWrite, command: 'fence' | 'lift'): void {
    const own = this.#stateOf(write)
    const wanted = command === 'fence' ? ['new', 'fencing'] : ['carried out', 'lifting']
    if (own.step === wanted[0]) this.#makeWrite(write, `sends its ${command}`)
    this.#makeWrite(write, `gives up its ${command}`)
  }

  /** Inserts the end of the leases that a writer has found, if they can have ended. */
  #awaitLeases(write: TraceWrite): void {
    for (const at of this.#execution.state.replicas.keys()) {
      const isAwaited = (this.#stateOf(write).awaited & (1 << at)) !== 0
      if (!isAwaited || this.#execution.now < (write.leasesUntil[at] ?? 0)) continue
      this.#execution.make(`replica ${at + 1}: its lease ends`)
      this.#execution.make(`replica ${at + 1}: a new lease`)
    }
  }

  /** The writer received no response from the node. If the client has none, the trace shows it by a lift. */
  #isUnknown(write: TraceWrite): boolean {
    const { request } = write
    if (request === undefined || request.status === 200 || [930, 943].includes(request.code)) return false
    if (request.status !== 0) return true
    return ![...this.#fences].some(([id, each]) => each === write && this.#lastLifts.has(id))
  }
}

function isLift({ bump, lift }: EpochChange): boolean {
  return lift.length > 0 && bump.length > 0
}
