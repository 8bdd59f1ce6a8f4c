/**
 * The flows of one node: who causes its calls. A flow is one user at one address with one kind of reads: a path, or all agents
 * and later pages. While such reads are bulk, each connection has a flow of them (`http/sequences.ts`). Calls of a flow are
 * counted in node time: the milliseconds that they have a slot.
 *
 * `recent`: the node time since the latest pause, in which the flow had no call for `PAUSE_MS`, with the usual time of rejected
 * calls. A flow with at least `BURST_MS` of it always has a call waiting: it is bulk. So is one whose requests are bulk already:
 * most of them may follow fetches of others.
 *
 * `served`: the node time of the flow in a virtual time that starts where the flows in use are.
 *
 * A party is all flows of one user at one address, and counts as they do: a client that opens many connections, or one for each
 * request, is many flows and one party. The next call is that of a party without `recent` node time, then of one with less than
 * `BURST_MS`, and among these of the one with the least `served`. The same rule chooses the flow of the party, but reads that
 * are urgent (`ClientPresence.isUrgent`) come first.
 */
import { type NodeCall, PAUSE_MS } from '../core/node-call.ts'

/** More node time than a page of a dashboard needs. */
const BURST_MS = 5000

export class Flow {
  readonly name: string
  /**
   * `edge`: work of the edge itself, which is never bulk for this reason. `refresh`: of responses that the clients of a party
   * use and that none awaits. It takes turns with the party, however many flows that has.
   */
  readonly kind: 'client' | 'edge' | 'party' | 'refresh' | 'urgent'
  /** The flow itself if it belongs to no other. */
  readonly party: Flow
  recent = 0
  served: number
  /** Queued, or in flight. */
  calls = 0
  idleSince: number
  /** Of a party: the `served` of the flow that got the latest slot. */
  virtualTime = 0

  constructor(
    name: string,
    kind: Flow['kind'],
    { served, idleSince }: Pick<Flow, 'served' | 'idleSince'>,
    party?: Flow,
  ) {
    this.name = name
    this.kind = kind
    this.served = served
    this.idleSince = idleSince
    this.party = party ?? this
  }
}

/** A call that waits for a slot or has one. */
export interface EnteredCall extends Pick<LimitedCall, 'endpoint'> {
  readonly call: LimitedCall
  /** `bulk` for reads of a flow that is bulk. */
  priority: LimitedCall['priority']
  readonly presence: LimitedCall['presence'] | undefined
  flow: Flow
  /** Of the client that causes the call, also of a refresh. Absent: the edge itself causes it. */
  readonly party: Flow | undefined
  /** The node time that was charged in advance. */
  charged: number
}

/** The properties of a call that the limiter uses. */
export type LimitedCall = Pick<NodeCall, 'priority' | 'caller' | 'flow' | 'endpoint' | 'presence'>

export class Flows {
  readonly #flows = new Map<string, Flow>()
  #virtualTime = 0

  /** Must be followed by `leave`, with `start` before it if the call gets a slot. */
  enter(call: LimitedCall, now: number): EnteredCall {
    const { flow: of, endpoint, presence } = call
    const party = of && this.#get(of.party, 'party', now)
    const caller = of ? this.#get(`${of.party} ${of.name}`, 'client', now, party) : this.#get(call.caller, 'edge', now)
    if (of?.isBulk) caller.recent = Math.max(caller.recent, BURST_MS)
    const isRefresh = presence?.isAwaited === false && !isBulkFlow(caller)
    let flow = caller
    if (party !== undefined && presence?.isUrgent) flow = this.#get(party.name, 'urgent', now, party)
    else if (party !== undefined && isRefresh) flow = this.#get(party.name, 'refresh', now)
    const priority = call.priority === 'interactive' && isBulkFlow(flow) ? 'bulk' : call.priority
    const entered = { call, priority, endpoint, presence, flow, party, charged: 0 }
    this.#count(entered, 1, now)
    return entered
  }

  /** Moves a queued call that is urgent now: also a refresh, when the stored response is too old. */
  makeUrgent(call: EnteredCall, now: number): void {
    const { party } = call
    if (party === undefined) return
    this.#count(call, -1, now)
    call.flow = this.#get(party.name, 'urgent', now, party)
    this.#count(call, 1, now)
  }

  /** Charges the usual node time of a call that gets a slot, so that calls that start together are of several flows. */
  start(call: EnteredCall, usualTime: number): void {
    const { party, served } = call.flow
    party.virtualTime = Math.max(party.virtualTime, served)
    this.#virtualTime = Math.max(this.#virtualTime, party.served)
    charge(call, usualTime)
  }

  /** Charges the usual node time of a call that gets no slot: a client that comes again at once always has a call waiting. */
  reject({ flow }: EnteredCall, usualTime: number): void {
    if (flow.kind === 'client') flow.recent += usualTime
  }

  /** `nodeTime`: how long the call had a slot. */
  leave(call: EnteredCall, nodeTime: number, now: number): void {
    charge(call, nodeTime - call.charged)
    this.#count(call, -1, now)
  }

  #count({ flow }: EnteredCall, calls: number, now: number): void {
    for (const each of flow.party === flow ? [flow] : [flow, flow.party]) {
      each.calls += calls
      each.idleSince = now
    }
  }

  #get(name: string, kind: Flow['kind'], now: number, party?: Flow): Flow {
    const virtualTime = party?.virtualTime ?? this.#virtualTime
    const key = `${kind} ${name}`
    const known = this.#flows.get(key)
    if (known !== undefined && !isIdle(known, now)) {
      if (known.calls === 0) known.served = Math.max(known.served, virtualTime)
      return known
    }
    // A search for each call would take longer, the more clients there are.
    this.#forgetIdle(now)
    const flow = new Flow(key, kind, { served: virtualTime, idleSince: now }, party)
    this.#flows.set(key, flow)
    return flow
  }

  #forgetIdle(now: number): void {
    for (const flow of this.#flows.values()) if (isIdle(flow, now)) this.#flows.delete(flow.name)
  }
}

function isIdle({ calls, idleSince }: Flow, now: number): boolean {
  return calls === 0 && now - idleSince >= PAUSE_MS
}

export function isBulkFlow({ kind, recent }: Flow): boolean {
  return kind === 'client' && recent >= BURST_MS
}

/** Returns whether the first flow comes before the second one. */
export function comesBefore(a: Flow, b: Flow): boolean {
  if (a.party !== b.party) return hasUsedLess(a.party, b.party)
  const [isA, isB] = [a.kind === 'urgent', b.kind === 'urgent']
  return isA === isB ? hasUsedLess(a, b) : isA
}

function hasUsedLess(a: Flow, b: Flow): boolean {
  const difference = rankOf(a) - rankOf(b)
  return difference < 0 || (difference === 0 && a.served < b.served)
}

/** Flows of one rank take turns: one that waits for those with less node time would wait until it is bulk. */
function rankOf({ recent }: Flow): number {
  return recent >= BURST_MS ? 2 : Math.sign(recent)
}

function charge(call: EnteredCall, ms: number): void {
  const { flow } = call
  const { party } = flow
  call.charged += ms
  flow.recent += ms
  flow.served += ms
  if (party === flow) return
  party.recent += ms
  party.served += ms
}
