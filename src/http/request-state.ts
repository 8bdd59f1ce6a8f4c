/**
 * What is known of a request while it is handled, and the address of its client behind trusted proxies.
 * `X-Forwarded-For` is read from the right, the end that the nearest proxy wrote, and only as far as the addresses are
 * trusted proxies.
 */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { BlockList, isIP } from 'node:net'
import type { EdgeError } from '../core/errors.ts'
import type { RequestEvent } from '../core/events.ts'
import { RecentlyUsed } from '../core/recently-used.ts'
import type { Caller } from '../core/request.ts'
import type { EdgeResponse } from '../core/response.ts'
import type { Span, SpanAttributes, StageName } from '../core/trace.ts'
import { headerText, normalizeAddress, parseAddressRange } from '../core/values.ts'
import { type Flags, NO_FLAGS } from './edge-request.ts'

/** Begins the trace of a request, or returns `undefined` if the request is not traced. */
export type BeginTrace = (request: { readonly id: string; readonly raw: TracedRequest }) => Span | undefined

/** What a trace needs of a request. */
export type TracedRequest = Pick<IncomingMessage, 'method' | 'headers' | 'httpVersion' | 'socket'>

export class RequestState {
  /** Monotonic milliseconds. */
  readonly startedAt = performance.now()
  /** The address of the client behind trusted proxies, in canonical form. */
  readonly clientAddress: string
  trace: Span | undefined
  /** Absent until the request is authenticated. */
  caller: Caller | undefined = undefined
  flags: Flags = NO_FLAGS
  /** The request passed every check and was handed to the pipeline, which reports on it from then on. */
  enteredPipeline = false
  /** The error that was sent. */
  error: EdgeError | undefined = undefined
  /** The response that was sent; absent if an error was sent, or nothing yet. */
  response: EdgeResponse | undefined = undefined
  /** Counts received bytes of the body; throws if they exceed the budget of all bodies. */
  countBody: ((bytes: number) => void) | undefined = undefined
  /** Bytes that the connection had sent before a response of unknown length. */
  bytesSentBefore: number | undefined = undefined
  #stage: Span | undefined = undefined

  constructor(clientAddress: string, trace: Span | undefined) {
    this.clientAddress = clientAddress
    this.trace = trace
  }

  /** Begins the span of a stage and ends the one before with these attributes. Does nothing if no trace is recorded. */
  nextStage(stage: StageName, attributes?: SpanAttributes): void {
    if (!this.trace?.recorded) return
    this.#stage?.end(attributes)
    this.#stage = this.trace.startSpan(stage)
  }

  /** Ends the span of the current stage. The pipeline begins its own spans. */
  endStage(): void {
    this.#stage?.end()
    this.#stage = undefined
  }

  /** Ends the trace, once, when the response was sent or the client has disconnected. */
  endTrace({ method, route, status, group, cache }: RequestEvent): void {
    this.endStage()
    const disconnected = status === 0 ? { fault: 'cancelled' as const } : {}
    this.trace?.end({ method, route, status, group, cache, ...disconnected })
  }
}

const MAX_CHECKED_ADDRESSES = 1000

/** `peer` is the address of the TCP connection, `forwarded` the header as Node joins it. */
type ClientAddress = (peer: string, forwarded: string | undefined) => string

/**
 * Returns a function that gives the address of the client in canonical form, never a list, a port or other text.
 * `trusted` are address ranges (`10.0.0.0/8`, `fd00::/8`, `192.0.2.1`); anything else throws an error.
 */
export function clientAddress(trusted: readonly string[]): ClientAddress {
  const isTrusted = rangeCheck(trusted)
  return (peer, forwarded) => {
    let client = normalizeAddress(peer) ?? peer
    if (forwarded === undefined || !isTrusted(client)) return client
    const hops = forwarded.split(',')
    while (hops.length > 0 && isTrusted(client)) {
      const hop = normalizeAddress(hops.pop()?.trim() ?? '')
      // If a trusted proxy passes on text that is no address, the proxy itself counts as the client.
      if (hop === undefined) return client
      client = hop
    }
    return client
  }
}

/** What the address of a client depends on. */
interface AddressedRequest {
  readonly raw: {
    readonly socket: { readonly remoteAddress?: string | undefined }
    readonly headers: IncomingHttpHeaders
  }
}

/** Returns the address of the client of a request. */
export type AddressOf = (request: AddressedRequest) => string

/** As `clientAddress`, for requests. `addressOf` returns the function for the settings in use. */
export function addressOfRequests(addressOf: () => ClientAddress): AddressOf {
  return ({ raw }) => addressOf()(raw.socket.remoteAddress ?? '', headerText(raw.headers['x-forwarded-for']))
}

/** Returns the address of the other end of a connection in canonical form. */
export function peerOf({ remoteAddress = '' }: { readonly remoteAddress?: string | undefined }): string {
  return normalizeAddress(remoteAddress) ?? ''
}

/**
 * Returns a check whether an address is in one of the ranges. Each family has its own list: a range such as `::/64`
 * also contains every IPv4 address in its mapped form, and one BlockList would match it (CVE-2026-92395).
 */
export function rangeCheck(ranges: readonly string[]): (address: string) => boolean {
  const lists = { ipv4: new BlockList(), ipv6: new BlockList() }
  for (const range of ranges) {
    const parsed = parseAddressRange(range)
    if (parsed === undefined) throw new Error(`${range} is no range of addresses; write IPv4 ranges in IPv4 form`)
    lists[parsed.family].addSubnet(parsed.address, parsed.prefix, parsed.family)
  }
  // A BlockList makes an object for each check, and requests come from few proxies.
  const checked = new RecentlyUsed<boolean>(MAX_CHECKED_ADDRESSES)
  return (address) => {
    const known = checked.get(address)
    if (known !== undefined) return known
    const family = isIP(address) === 4 ? 'ipv4' : 'ipv6'
    const isInside = isIP(address) !== 0 && lists[family].check(address, family)
    checked.set(address, isInside)
    return isInside
  }
}
