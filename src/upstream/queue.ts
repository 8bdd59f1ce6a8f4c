import type { NodeCall } from '../core/node-call.ts'

/**
 * Those who wait for one node. The highest class goes first; in a class the callers go in turn, each of them first
 * come first served: where every caller waits for one call, that is first come first served altogether.
 */

export type Priority = NodeCall['priority']

/** Who goes first, and who is sent away last. */
const CLASSES = ['health', 'write', 'interactive', 'bulk'] as const satisfies readonly Priority[]

export interface Standing {
  readonly priority: Priority
  readonly caller: string
}

/** Callers in the order of their turns; of each, who waits, in the order of arrival. */
type Callers<One> = Map<string, Set<One>>

export class Line<One extends Standing> {
  readonly #classes: Readonly<Record<Priority, Callers<One>>> = {
    health: new Map(),
    write: new Map(),
    interactive: new Map(),
    bulk: new Map(),
  }
  #size = 0

  get size(): number {
    return this.#size
  }

  add(one: One): void {
    const callers = this.#classes[one.priority]
    const own = callers.get(one.caller)
    if (own === undefined) callers.set(one.caller, new Set([one]))
    else own.add(one)
    this.#size += 1
  }

  remove(one: One): void {
    const callers = this.#classes[one.priority]
    const own = callers.get(one.caller)
    if (own?.delete(one) !== true) return
    this.#size -= 1
    if (own.size === 0) callers.delete(one.caller)
  }

  /** Takes out whose turn it is. Callers with their `share` in hand let the others of their class go first. */
  next(bulkMayGo: boolean, hasShare: (caller: string) => boolean): One | undefined {
    for (const load of CLASSES) {
      const callers = this.#classes[load]
      if (callers.size === 0 || (load === 'bulk' && !bulkMayGo)) continue
      const names = [...callers.keys()]
      return this.#takeFirst(callers, names.find((name) => !hasShare(name)) ?? names[0])
    }
    return undefined
  }

  /** Takes out anyone. */
  any(): One | undefined {
    return this.next(true, () => false)
  }

  /** How many would go before one that comes now. */
  ahead({ priority: load, caller }: Standing): number {
    let count = 0
    for (const higher of CLASSES.slice(0, CLASSES.indexOf(load))) {
      for (const waiting of this.#classes[higher].values()) count += waiting.size
    }
    const own = this.#classes[load].get(caller)?.size ?? 0
    for (const waiting of this.#classes[load].values()) count += Math.min(waiting.size, own + 1)
    // Of its own caller all go before it, and `own + 1` is no less than that.
    return count
  }

  /**
   * Who makes room for a newcomer where the line is full: the last of the lowest class under its own; else, in its
   * own class, the last of the caller who has most there, where the newcomer's caller has less.
   */
  displacedBy({ priority: load, caller }: Standing): One | undefined {
    const lower = CLASSES.slice(CLASSES.indexOf(load) + 1).reverse()
    const lowest = lower.find((each) => this.#classes[each].size > 0)
    const most = longest(this.#classes[lowest ?? load])
    if (most === undefined) return undefined
    const own = this.#classes[load].get(caller)?.size ?? 0
    if (lowest === undefined && most.size <= own + 1) return undefined
    return [...most].at(-1)
  }

  #takeFirst(callers: Callers<One>, name: string | undefined): One | undefined {
    const own = name === undefined ? undefined : callers.get(name)
    if (name === undefined || own === undefined) return undefined
    const [first] = own
    if (first === undefined) return undefined
    this.remove(first)
    // Its next one waits until the others have had their turn.
    if (callers.delete(name)) callers.set(name, own)
    return first
  }
}

function longest<One>(callers: Callers<One>): Set<One> | undefined {
  let most: Set<One> | undefined
  for (const waiting of callers.values()) if (waiting.size > (most?.size ?? 0)) most = waiting
  return most
}

/** How long a call on one node takes at the moment, and so how long who waits will wait. */

/** Weight of the newest call in the average: what was slow is believed slowly, recovery at once. */
const SLOWER = 0.2
const QUICKER = 0.5
/** Nobody is told to come back later than that: the estimate is rough. */
const LONGEST_RETRY = 30

export class CallTime {
  #average = 0

  get average(): number {
    return this.#average
  }

  took(newest: number): void {
    const before = this.#average
    this.#average = before === 0 ? newest : before + (newest - before) * (newest > before ? SLOWER : QUICKER)
  }

  /** Milliseconds until one who has so many before it may go. */
  wait(ahead: number, places: number): number {
    return ((ahead + 1) * this.#average) / places
  }

  /** Whole seconds, to be told to who is sent away. */
  retryAfter(ahead: number, places: number): number {
    return Math.min(LONGEST_RETRY, Math.max(1, Math.ceil(this.wait(ahead, places) / 1000)))
  }
}
