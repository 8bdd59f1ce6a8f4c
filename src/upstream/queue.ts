/**
 * The calls that wait for one node. The highest priority goes first. Within a priority, the party that has used least node time
 * goes first, and then its flow (`flows.ts`), and each flow's calls are in order of arrival. Calls that no connected client
 * awaits come behind all others.
 */
import { removeFrom } from '../core/in-flight-list.ts'
import type { NodeCall } from '../core/node-call.ts'
import { comesBefore, type Flow } from './flows.ts'

type Priority = NodeCall['priority']

/** Highest priority first. */
export const PRIORITIES = ['own', 'health', 'write', 'interactive', 'bulk'] as const satisfies readonly Priority[]

export interface Queueable {
  priority: Priority
  readonly flow: Flow
}

type CallsOfFlows<Item> = Map<Flow, Item[]>

export class CallQueue<Item extends Queueable> {
  /** The calls that no connected client awaits, in order of arrival. */
  readonly #last = new Set<Item>()
  readonly #flowsOf: Readonly<Record<Priority, CallsOfFlows<Item>>> = {
    own: new Map(),
    health: new Map(),
    write: new Map(),
    interactive: new Map(),
    bulk: new Map(),
  }
  readonly #sizes = { all: 0, own: 0, health: 0, write: 0, interactive: 0, bulk: 0 }
  /** How many calls wait. */
  readonly sizes: Readonly<Record<Priority | 'all', number>> = this.#sizes

  /** `isLast`: behind all others. */
  add(item: Item, isLast = false): void {
    this.#sizes.all += 1
    this.#sizes[item.priority] += 1
    if (isLast) return void this.#last.add(item)
    const flows = this.#flowsOf[item.priority]
    const own = flows.get(item.flow)
    if (own === undefined) flows.set(item.flow, [item])
    else own.push(item)
  }

  remove(item: Item): void {
    const flows = this.#flowsOf[item.priority]
    const own = flows.get(item.flow)
    if (!this.#last.delete(item) && !(own && removeFrom(own, item))) return
    this.#sizes.all -= 1
    this.#sizes[item.priority] -= 1
    if (own?.length === 0) flows.delete(item.flow)
  }

  /** Makes the queued reads of a flow bulk. */
  demote(flow: Flow): void {
    // A copy: each item is removed from the list.
    for (const item of [...(this.#flowsOf.interactive.get(flow) ?? [])]) {
      this.remove(item)
      item.priority = 'bulk'
      this.add(item)
    }
  }

  /** Removes and returns the next call of a priority for which `isAllowed` holds. */
  takeNext(isAllowed: (priority: Priority) => boolean): Item | undefined {
    const priority = PRIORITIES.find((each) => this.#flowsOf[each].size > 0 && isAllowed(each))
    const next = priority === undefined ? this.#nextOfLast(isAllowed) : firstOf(this.#flowsOf[priority])
    if (next !== undefined) this.remove(next)
    return next
  }

  #nextOfLast(isAllowed: (priority: Priority) => boolean): Item | undefined {
    return [...this.#last].find(({ priority }) => isAllowed(priority))
  }

  /** Removes and returns the calls of a priority for which `isMatch` holds. */
  takeAll(priority: Priority, isMatch: (item: Item) => boolean): readonly Item[] {
    const found = [...this.#last].filter((item) => item.priority === priority && isMatch(item))
    for (const item of found) this.#last.delete(item)
    const flows = this.#flowsOf[priority]
    for (const [flow, items] of flows) {
      const rest: Item[] = []
      for (const item of items) (isMatch(item) ? found : rest).push(item)
      if (rest.length === 0) flows.delete(flow)
      else flows.set(flow, rest)
    }
    this.#sizes.all -= found.length
    this.#sizes[priority] -= found.length
    return found
  }

  /** Returns how many queued calls would go before a new call. */
  countAhead({ priority, flow }: Queueable): number {
    let count = 0
    for (const higher of PRIORITIES.slice(0, PRIORITIES.indexOf(priority))) count += this.#sizeOf(higher)
    const flows = this.#flowsOf[priority]
    const parties = sizesOfParties(flows)
    // The new call is the last one of its flow and of its party: each other one gets as many turns before it, if it has used
    // more node time, and otherwise one more.
    const before = flows.get(flow)?.length ?? 0
    const own = flow.party
    let ofParty = before
    for (const [each, { length }] of flows) {
      if (each !== flow && each.party === own) ofParty += Math.min(length, before + Number(!comesBefore(flow, each)))
    }
    for (const [party, size] of parties)
      if (party !== own) count += Math.min(size, ofParty + Number(!comesBefore(own, party)))
    return count + ofParty
  }

  #sizeOf(priority: Priority): number {
    let size = 0
    for (const items of this.#flowsOf[priority].values()) size += items.length
    return size
  }

  /**
   * Returns the call that makes room for a new one in a full queue: one that no connected client awaits; else the last call of
   * the lowest priority below the new call; else one of its priority, of the party with most calls if its own has fewer, or of
   * the flow of its party with most calls if its own has fewer. If its own has as many with the new call, and comes before the
   * other, too: calls that come again at once would keep all places. `largestOf` chooses the flow of a party.
   */
  findDisplaceable({ priority, flow }: Queueable): Item | undefined {
    const [last] = this.#last
    if (last !== undefined) return last
    const lowerPriorities = PRIORITIES.slice(PRIORITIES.indexOf(priority) + 1).reverse()
    const lowest = lowerPriorities.find((each) => this.#flowsOf[each].size > 0)
    const flows = this.#flowsOf[lowest ?? priority]
    const parties = sizesOfParties(flows)
    const ofOwn = [flow.party, parties.get(flow.party) ?? 0] as const
    const [party, size] = [...parties].reduce((a, b) => (b[1] > a[1] ? b : a), ofOwn)
    const ofParty = [...flows].filter(([each]) => each.party === party)
    if (ofParty.length === 0) return undefined
    const [largest, items] = largestOf(ofParty)
    const more = party === flow.party ? items.length - (flows.get(flow)?.length ?? 0) : size - ofOwn[1]
    const isFairer = more > 1 || (more === 1 && comesBefore(flow, largest))
    return lowest !== undefined || isFairer ? items.at(-1) : undefined
  }
}

type CallsOfFlow<Item> = readonly [Flow, readonly Item[]]

/** Returns the flow with most calls; among equal ones, the one that comes last. */
function largestOf<Item>(flows: readonly CallsOfFlow<Item>[]): CallsOfFlow<Item> {
  const isLarger = ([a, { length }]: CallsOfFlow<Item>, [b, { length: other }]: CallsOfFlow<Item>) =>
    length === other ? !comesBefore(a, b) : length > other
  return flows.reduce((largest, each) => (isLarger(each, largest) ? each : largest))
}

/** Returns how many calls each party has. */
function sizesOfParties(flows: CallsOfFlows<unknown>): ReadonlyMap<Flow, number> {
  const sizes = new Map<Flow, number>()
  for (const [{ party }, { length }] of flows) sizes.set(party, (sizes.get(party) ?? 0) + length)
  return sizes
}

function firstOf<Item>(flows: CallsOfFlows<Item>): Item | undefined {
  const next = [...flows.keys()].reduce((best, flow) => (comesBefore(flow, best) ? flow : best))
  const [first] = flows.get(next) ?? []
  return first
}
