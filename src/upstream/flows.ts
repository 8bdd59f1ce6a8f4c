/**
 * The flows of one node: who causes its calls. A flow is one user at one address on one connection, because a dashboard has
 * one account and one address for everybody who uses it. Calls of a flow are counted in node time: the milliseconds that
 * they have a slot.
 *
 * `recent`: the node time since the latest pause, in which the flow had no call for `PAUSE_MS`. A flow with at least
 * `BURST_MS` of it always has a call waiting: it is bulk. So is a page that continues a walk through a collection.
 *
 * `served`: the node time of the flow in a virtual time that starts where the flows in use are. The next call is that of the
 * flow with the least `recent` node time, up to `BURST_MS`; of flows beyond it, that with the least `served`.
 */
import type { NodeCall } from '../core/node-call.ts'

/** A flow without a call for this long has used little lately. */
export const PAUSE_MS = 500
/** More node time than a page of a dashboard needs. */
const BURST_MS = 5000

export interface Flow {
  readonly name: string
  /** `edge`: work of the edge itself, which is never bulk for this reason. `walk`: through a collection. */
  readonly kind: 'client' | 'edge' | 'walk'
  recent: number
  served: number
  /** Queued, or in flight. */
  calls: number
  idleSince: number
  /** The latest page of a collection. */
  page: Page | undefined
}

/** What a call needs to leave its flow again. */
export interface FlowCall {
  readonly flow: Flow
  /** The flow of a walk belongs to this one. */
  readonly owner: Flow
  /** The node time that was charged in advance. */
  charged: number
}

interface Page {
  readonly list: string
  readonly offset: number
}

type CallOfFlow = Pick<NodeCall, 'caller' | 'flow' | 'path'>

export class Flows {
  readonly #flows = new Map<string, Flow>()
  #virtualTime = 0

  /** Must be followed by `leave`, with `start` before it if the call gets a slot. */
  enter(call: CallOfFlow, now: number): FlowCall {
    this.#forgetIdle(now)
    const owner = call.flow === undefined ? this.#get(call.caller, 'edge') : this.#get(call.flow, 'client')
    const page = call.flow === undefined ? undefined : pageOf(call.path)
    const isWalk = page !== undefined && page.list === owner.page?.list && page.offset > owner.page.offset
    if (page !== undefined) owner.page = page
    const flow = isWalk ? this.#get(`${owner.name} ${page.list}`, 'walk') : owner
    owner.calls += 1
    if (flow !== owner) flow.calls += 1
    return { flow, owner, charged: 0 }
  }

  /** Charges the usual node time of a call that gets a slot, so that calls that start together are of several flows. */
  start(call: FlowCall, usualTime: number): void {
    this.#virtualTime = Math.max(this.#virtualTime, call.flow.served)
    charge(call, usualTime)
  }

  /** `nodeTime`: how long the call had a slot. */
  leave(call: FlowCall, nodeTime: number, now: number): void {
    charge(call, nodeTime - call.charged)
    for (const each of new Set([call.flow, call.owner])) {
      each.calls -= 1
      each.idleSince = now
    }
  }

  #get(name: string, kind: Flow['kind']): Flow {
    const known = this.#flows.get(name)
    if (known !== undefined) {
      if (known.calls === 0) known.served = Math.max(known.served, this.#virtualTime)
      return known
    }
    const flow = { name, kind, recent: 0, served: this.#virtualTime, calls: 0, idleSince: 0, page: undefined }
    this.#flows.set(name, flow)
    return flow
  }

  #forgetIdle(now: number): void {
    for (const { name, calls, idleSince } of this.#flows.values()) {
      if (calls === 0 && now - idleSince >= PAUSE_MS) this.#flows.delete(name)
    }
  }
}

export function isBulkFlow({ kind, recent }: Flow): boolean {
  return kind === 'walk' || (kind === 'client' && recent >= BURST_MS)
}

/** Returns whether the first flow comes before the second one. */
export function comesBefore(a: Flow, b: Flow): boolean {
  const difference = Math.min(a.recent, BURST_MS) - Math.min(b.recent, BURST_MS)
  return difference < 0 || (difference === 0 && a.served < b.served)
}

function charge(call: FlowCall, ms: number): void {
  call.charged += ms
  call.flow.recent += ms
  call.flow.served += ms
}

/** Returns the page that a call reads, if its URL has an offset or a limit. */
function pageOf(path: string): Page | undefined {
  if (!/[?&](?:offset|limit)=/.test(path)) return undefined
  const [, offset = '0'] = /[?&]offset=(\d+)/.exec(path) ?? []
  return { list: path.replace(/([?&])offset=\d*&?/, '$1').replace(/[?&]$/, ''), offset: Number(offset) }
}
