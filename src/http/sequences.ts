/** Who always has a request waiting, or walks through a collection, by the requests that need a node (`docs/queueing.md`). */
import { hash } from 'node:crypto'
import { type ClientFlow, PAUSE_MS } from '../core/node-call.ts'
import { MAX_IN_USE, RecentlyUsed } from '../core/recently-used.ts'
import type { EdgeRequest } from '../core/request.ts'

/** More than a page of a dashboard takes. */
const BULK_AFTER_MS = 5000
/** A connection is sparse while its busy share is lower. A new one begins with it: what it does next decides. */
const BUSY_SHARE = 0.75
/** Of the busy share. */
const HALF_LIFE_MS = 10_000

/**
 * Requests of a party that need a node: of one kind, on one connection, or for pages of one collection. Since `since`, their
 * pauses were shorter than `PAUSE_MS`.
 */
interface Sequence {
  since: number
  /** At `since`: the part of the time that was no pause, as a moving average. */
  busyShare: number
  requests: number
  /** Later than now: a client was asked to come back then. */
  idleSince: number
  /** Of the latest page of a collection. `Infinity`: none was read since `since`. */
  offset: number
}

interface RequestFlow extends ClientFlow {
  readonly end: () => void
}

/**
 * The sequences of all parties. A busy connection does not show who is bulk: one of a pool has requests of many people, and some
 * clients open one for each request. But a sparse one is not bulk, whatever others of its party read. Bulk requests of a kind
 * take turns by connection. A page that continues a walk through a collection is bulk at once, also on a sparse connection,
 * and in a separate flow.
 */
export class Sequences {
  readonly #latest = new RecentlyUsed<Sequence>(MAX_IN_USE)
  readonly #clock: () => number

  constructor(clock: () => number) {
    this.#clock = clock
  }

  /** Begins a request. `connection`: absent: the request is the first one of its connection. */
  begin(party: string, kind: string, connection: number | undefined, page?: Page): RequestFlow {
    const clock = this.#clock
    const ofKind = this.#begin(`${party} ${kind}`)
    const ofConnection = connection === undefined ? undefined : this.#begin(`${party} ${connection}`)
    const ofPages = page && this.#begin(`${party} ${connection} ${page.collection}`)
    const before = ofPages?.offset ?? Number.POSITIVE_INFINITY
    const isWalk = page !== undefined && page.offset > before
    if (page !== undefined && ofPages !== undefined) ofPages.offset = page.offset
    const isSparse = () => ofConnection !== undefined && busyShareOf(ofConnection, clock()) < BUSY_SHARE
    // The flow is read when the request needs a slot: the request may have waited for others before.
    return {
      party,
      get name() {
        const name = ((isSparse() || this.isBulk) && connection) || kind
        return isWalk ? `walk ${name}` : name
      },
      get isBulk() {
        return isWalk || (clock() - ofKind.since >= BULK_AFTER_MS && !isSparse())
      },
      refuse(retryAfter) {
        const until = clock() + 1000 * retryAfter
        if (ofConnection !== undefined) ofConnection.idleSince = until
        if (!isWalk || ofPages === undefined) return
        // The page continues the walk when it comes again.
        ofPages.idleSince = until
        ofPages.offset = Math.min(ofPages.offset, before)
      },
      end() {
        for (const sequence of [ofKind, ofConnection, ofPages]) {
          if (sequence === undefined) continue
          sequence.requests -= 1
          sequence.idleSince = Math.max(sequence.idleSince, clock())
        }
      },
    }
  }

  #begin(name: string): Sequence {
    const now = this.#clock()
    const known = this.#latest.get(name)
    const sequence = known ?? {
      since: now,
      busyShare: BUSY_SHARE,
      requests: 0,
      idleSince: now,
      offset: Number.POSITIVE_INFINITY,
    }
    if (known === undefined) this.#latest.set(name, sequence)
    const { requests, idleSince } = sequence
    if (requests === 0 && now - idleSince >= PAUSE_MS) {
      sequence.busyShare = busyShareOf(sequence, idleSince) * weightAfter(now - idleSince)
      sequence.since = now
      sequence.offset = Number.POSITIVE_INFINITY
    }
    sequence.requests += 1
    return sequence
  }
}

function busyShareOf({ since, busyShare }: Sequence, now: number): number {
  return 1 - (1 - busyShare) * weightAfter(now - since)
}

function weightAfter(ms: number): number {
  return 0.5 ** (ms / HALF_LIFE_MS)
}

export type KindParts = Pick<EdgeRequest, 'endpoint' | 'params' | 'query'>

/** Of a longer read, only the digest is remembered. */
const MAX_READ_CHARS = 200

interface Page {
  /** The read without its offset, or its digest: other filters are another collection. */
  readonly collection: string
  /** The number of rows before the page. */
  readonly offset: number
}

/**
 * Returns what a request reads. Its kind: all reads of one of many things (of an agent, of a later page), or those of one path.
 * People read the same responses again; bulk reads one after another. `page`: absent: its endpoint has no pages.
 */
export function kindOf({ endpoint, params, query }: KindParts): { readonly kind: string; readonly page?: Page } {
  const { path } = endpoint
  const offset = Number(query.offset ?? 0)
  const kind = Object.keys(params).length > 0 || offset > 0 ? 'one of many' : path
  if (!Object.hasOwn(endpoint.query, 'offset')) return { kind }
  const read = JSON.stringify([path, params, { ...query, offset: undefined }])
  const collection = read.length <= MAX_READ_CHARS ? read : hash('sha256', read, 'base64url')
  return { kind, page: { collection, offset } }
}
