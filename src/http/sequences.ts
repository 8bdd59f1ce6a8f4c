/** Whether the requests of a caller follow each other for long. */
import { PAUSE_MS } from '../core/node-call.ts'
import { MAX_IN_USE, RecentlyUsed } from '../core/recently-used.ts'
import type { EdgeRequest } from '../core/request.ts'

/** More than a page of a dashboard takes. */
const BULK_AFTER_MS = 5000

/** Requests that need a node, with pauses of less than `PAUSE_MS`. */
class Sequence {
  #requests = 0
  #idleSince = 0
  readonly #since: number

  constructor(now: number) {
    this.#since = now
  }

  isOver(now: number): boolean {
    return this.#requests === 0 && now - this.#idleSince >= PAUSE_MS
  }

  /** Returns whether the requests have followed each other for long. */
  begin(now: number): boolean {
    this.#requests += 1
    return now - this.#since >= BULK_AFTER_MS
  }

  end(now: number): void {
    this.#requests -= 1
    this.#idleSince = now
  }
}

/** The sequences of callers by name: a balancer sends requests of many callers on one connection. */
export class Sequences {
  readonly #latest = new RecentlyUsed<Sequence>(MAX_IN_USE)

  /** Begins a request. `now`: monotonic milliseconds. */
  begin(name: string, now: number): { readonly isBulk: boolean; readonly end: (now: number) => void } {
    const latest = this.#latest.get(name)
    const sequence = latest === undefined || latest.isOver(now) ? new Sequence(now) : latest
    if (sequence !== latest) this.#latest.set(name, sequence)
    return { isBulk: sequence.begin(now), end: (end) => sequence.end(end) }
  }
}

/**
 * Returns the name of the sequence to which a request without a connection of its own belongs: all requests for one of many
 * things (of an agent, of a later page), or those of one path. People read the same responses again; bulk reads one after another.
 */
export function sequenceOf({ endpoint, params, query }: Pick<EdgeRequest, 'endpoint' | 'params' | 'query'>): string {
  const isOfMany = Object.keys(params).length > 0 || Number(query.offset ?? 0) > 0
  return isOfMany ? 'one of many' : endpoint.path
}
