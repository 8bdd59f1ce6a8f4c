/**
 * The calls that wait for one node. The highest priority goes first. Within a priority, callers take turns (round robin),
 * and each caller's calls are in order of arrival. Calls that no connected client awaits come behind all others.
 */
import type { NodeCall } from '../core/node-call.ts'

type Priority = NodeCall['priority']

/** Highest priority first. */
export const PRIORITIES = ['health', 'write', 'interactive', 'bulk'] as const satisfies readonly Priority[]

export interface Queueable {
  readonly priority: Priority
  readonly caller: string
}

/** The queued calls of each caller; the order of the Map is the order of turns. */
type Callers<Item> = Map<string, Set<Item>>

export class CallQueue<Item extends Queueable> {
  /** The calls that no connected client awaits, in order of arrival. */
  readonly #last = new Set<Item>()
  readonly #callersOf: Readonly<Record<Priority, Callers<Item>>> = {
    health: new Map(),
    write: new Map(),
    interactive: new Map(),
    bulk: new Map(),
  }
  readonly #sizes = { all: 0, health: 0, write: 0, interactive: 0, bulk: 0 }
  /** How many calls wait. */
  readonly sizes: Readonly<Record<Priority | 'all', number>> = this.#sizes

  /** `isLast`: behind all others. */
  add(item: Item, isLast = false): void {
    this.#sizes.all += 1
    this.#sizes[item.priority] += 1
    if (isLast) return void this.#last.add(item)
    const callers = this.#callersOf[item.priority]
    const own = callers.get(item.caller)
    if (own === undefined) callers.set(item.caller, new Set([item]))
    else own.add(item)
  }

  remove(item: Item): void {
    const callers = this.#callersOf[item.priority]
    const own = callers.get(item.caller)
    if (!this.#last.delete(item) && own?.delete(item) !== true) return
    this.#sizes.all -= 1
    this.#sizes[item.priority] -= 1
    if (own?.size === 0) callers.delete(item.caller)
  }

  /**
   * Removes and returns the next call of a priority for which `isAllowed` holds. Callers for which `hasShare` holds let the
   * others of their priority go first.
   */
  takeNext(isAllowed: (priority: Priority) => boolean, hasShare: (caller: string) => boolean): Item | undefined {
    for (const priority of PRIORITIES) {
      const callers = this.#callersOf[priority]
      if (callers.size === 0 || !isAllowed(priority)) continue
      const names = [...callers.keys()]
      return this.#takeFirstOf(callers, names.find((name) => !hasShare(name)) ?? names[0])
    }
    const last = [...this.#last].find(({ priority }) => isAllowed(priority))
    if (last !== undefined) this.remove(last)
    return last
  }

  /** Removes and returns any call. */
  takeAny(): Item | undefined {
    return this.takeNext(
      () => true,
      () => false,
    )
  }

  /** Removes and returns the calls of a priority for which `isMatch` holds. */
  takeAll(priority: Priority, isMatch: (item: Item) => boolean): readonly Item[] {
    const last = [...this.#last].filter((item) => item.priority === priority)
    const found = [last, ...this.#callersOf[priority].values()].flatMap((items) => [...items].filter(isMatch))
    for (const item of found) this.remove(item)
    return found
  }

  /** Returns how many queued calls would go before a new call. */
  countAhead({ priority, caller }: Queueable): number {
    let count = 0
    for (const higher of PRIORITIES.slice(0, PRIORITIES.indexOf(priority))) {
      for (const items of this.#callersOf[higher].values()) count += items.size
    }
    const own = this.#callersOf[priority].get(caller)?.size ?? 0
    // The new call is number `own + 1` of its caller, so each other caller gets at most that number of turns before it.
    for (const items of this.#callersOf[priority].values()) count += Math.min(items.size, own + 1)
    return count
  }

  /**
   * Returns the call that makes room for a new one in a full queue: one that no connected client awaits; else the last call of
   * the lowest priority below the new call; else the last call of the caller with most calls in its priority, if the new call's caller has fewer.
   */
  findDisplaceable({ priority, caller }: Queueable): Item | undefined {
    const [last] = this.#last
    if (last !== undefined) return last
    const lowerPriorities = PRIORITIES.slice(PRIORITIES.indexOf(priority) + 1).reverse()
    const lowest = lowerPriorities.find((each) => this.#callersOf[each].size > 0)
    const largest = largestOf(this.#callersOf[lowest ?? priority])
    if (largest === undefined) return undefined
    const own = this.#callersOf[priority].get(caller)?.size ?? 0
    if (lowest === undefined && largest.size <= own + 1) return undefined
    return [...largest].at(-1)
  }

  #takeFirstOf(callers: Callers<Item>, name: string | undefined): Item | undefined {
    const own = name === undefined ? undefined : callers.get(name)
    if (name === undefined || own === undefined) return undefined
    const [first] = own
    if (first === undefined) return undefined
    this.remove(first)
    // Moves the caller to the end: its next call waits until the others had their turn.
    if (callers.delete(name)) callers.set(name, own)
    return first
  }
}

function largestOf<Item>(callers: Callers<Item>): Set<Item> | undefined {
  let largest: Set<Item> | undefined
  for (const items of callers.values()) if (items.size > (largest?.size ?? 0)) largest = items
  return largest
}
