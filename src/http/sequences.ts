/** Who always has a request waiting, by the requests of one kind that need a node (`docs/queueing.md`). */
import { type ClientFlow, PAUSE_MS } from '../core/node-call.ts'
import { MAX_IN_USE, RecentlyUsed } from '../core/recently-used.ts'
import type { EdgeRequest } from '../core/request.ts'

/** More than a page of a dashboard takes. */
const BULK_AFTER_MS = 5000

/** Requests of one kind of a party that need a node, with pauses of less than `PAUSE_MS`. */
interface Sequence {
  readonly since: number
  requests: number
  idleSince: number
}

/** The flow of a request. Whether it is bulk is read when the request needs a slot: it may have waited for others before. */
class RequestFlow implements ClientFlow {
  readonly party: string
  readonly name: number | string
  readonly #sequence: Sequence
  readonly #clock: () => number

  constructor(party: string, name: number | string, sequence: Sequence, clock: () => number) {
    this.party = party
    this.name = name
    this.#sequence = sequence
    this.#clock = clock
  }

  /** Whether the requests have followed each other for long. */
  get isBulk(): boolean {
    return this.#clock() - this.#sequence.since >= BULK_AFTER_MS
  }

  end(): void {
    this.#sequence.requests -= 1
    this.#sequence.idleSince = this.#clock()
  }
}

/**
 * The sequences of all parties. Connections do not show who is bulk: one of a pool has requests of many people, and some
 * clients open one for each request. But bulk requests of a kind take turns by connection: a person on a lasting connection
 * comes before connections that have used more.
 */
export class Sequences {
  readonly #latest = new RecentlyUsed<Sequence>(MAX_IN_USE)
  readonly #clock: () => number

  constructor(clock: () => number) {
    this.#clock = clock
  }

  /** Begins a request. `connection`: absent: the request is the first one of its connection. */
  begin(party: string, kind: string, connection: number | undefined): RequestFlow {
    const now = this.#clock()
    const name = `${party} ${kind}`
    let sequence = this.#latest.get(name)
    if (sequence === undefined || (sequence.requests === 0 && now - sequence.idleSince >= PAUSE_MS)) {
      sequence = { since: now, requests: 0, idleSince: 0 }
      this.#latest.set(name, sequence)
    }
    sequence.requests += 1
    const isBulk = now - sequence.since >= BULK_AFTER_MS
    return new RequestFlow(party, (isBulk && connection) || kind, sequence, this.#clock)
  }
}

export type KindParts = Pick<EdgeRequest, 'endpoint' | 'params' | 'query'>

/**
 * Returns the kind of a request: all reads of one of many things (of an agent, of a later page), or those of one path. People
 * read the same responses again; bulk reads one after another.
 */
export function kindOf({ endpoint, params, query }: KindParts): string {
  const isOfMany = Object.keys(params).length > 0 || Number(query.offset ?? 0) > 0
  return isOfMany ? 'one of many' : endpoint.path
}
