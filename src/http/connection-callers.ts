/** Whether the requests of a caller on a connection follow each other for long. */
import { PAUSE_MS } from '../core/node-call.ts'

/** More than a page of a dashboard takes. */
const BULK_AFTER_MS = 5000

/** The requests of one caller on one connection that need a node. */
class CallerUse {
  #requests = 0
  #idleSince = 0
  readonly #busySince: number

  constructor(now: number) {
    this.#busySince = now
  }

  isIdle(now: number): boolean {
    return this.#requests === 0 && now - this.#idleSince >= PAUSE_MS
  }

  /** Returns whether the requests have followed each other for long. */
  begin(now: number): boolean {
    this.#requests += 1
    return now - this.#busySince >= BULK_AFTER_MS
  }

  end(now: number): void {
    this.#requests -= 1
    this.#idleSince = now
  }
}

/** A balancer sends requests of many callers on one connection. */
export class ConnectionCallers {
  readonly #callers = new Map<string, CallerUse>()

  /** Begins a request. `now`: monotonic milliseconds. */
  begin(caller: string, now: number): { readonly isBulk: boolean; readonly end: (now: number) => void } {
    for (const [name, use] of this.#callers) if (use.isIdle(now)) this.#callers.delete(name)
    const use = this.#callers.get(caller) ?? new CallerUse(now)
    this.#callers.set(caller, use)
    return { isBulk: use.begin(now), end: (end) => use.end(end) }
  }
}
