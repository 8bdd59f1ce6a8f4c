/**
 * The address of the client behind trusted proxies. `X-Forwarded-For`, and without it `Forwarded` (RFC 7239), is read from the
 * right, the end that the nearest proxy wrote, and only as far as the addresses are trusted proxies.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { BlockList, isIP } from 'node:net'
import { RecentlyUsed } from '../core/recently-used.ts'
import { headerText, normalizeAddress, parseAddressRange } from '../core/values.ts'

const MAX_CHECKED_ADDRESSES = 1000

interface ForwardingHeaders {
  readonly 'x-forwarded-for'?: string | string[] | undefined
  readonly forwarded?: string | undefined
}

export interface FoundAddress {
  /** In canonical form, never a list, a port or other text: that of the client, or of the last proxy that is known. */
  readonly address: string
  /** The header in which a trusted proxy names no address that can be read: the client is not known. */
  readonly unreadable?: 'X-Forwarded-For' | 'Forwarded'
}

/** `peer` is the address of the TCP connection, `headers` as Node joins their lines. */
type ClientAddress = (peer: string, headers: ForwardingHeaders) => FoundAddress

/**
 * Returns a function that finds the address of the client. `trusted` are address ranges (`10.0.0.0/8`, `fd00::/8`,
 * `192.0.2.1`); anything else throws an error. `Forwarded` counts only without the other header: a proxy that writes
 * `X-Forwarded-For` passes a `Forwarded` of its client on.
 */
export function clientAddress(trusted: readonly string[]): ClientAddress {
  const isTrusted = rangeCheck(trusted)
  return (peer, headers) => {
    let address = normalizeAddress(peer) ?? peer
    const list = headerText(headers['x-forwarded-for'])
    const text = list ?? headers.forwarded
    if (text === undefined || !isTrusted(address)) return { address }
    // No address contains a comma. A quotation mark that a client sent must not join its text with that of the proxy.
    const hops = text.split(',')
    while (hops.length > 0 && isTrusted(address)) {
      const hop = hops.pop()?.trim() ?? ''
      // RFC 9110 section 5.6.1: empty elements of a list are ignored.
      if (hop === '') continue
      const found = addressIn(list === undefined ? forParameter(hop) : hop)
      if (found === undefined) return { address, unreadable: list === undefined ? 'Forwarded' : 'X-Forwarded-For' }
      address = found
    }
    return { address }
  }
}

/** An address, in brackets or quotes or not, with a port or without; RFC 7239 section 6 permits names of ports. */
const NODE = /^("?)(?:\[([0-9A-Fa-f:.]+)\]|([0-9.]+)|([0-9A-Fa-f:.]+))(?::(?:[0-9]{1,5}|_[\w.-]+))?\1$/

function addressIn(node: string): string | undefined {
  const [, , bracketed, v4, v6] = NODE.exec(node) ?? []
  const address = bracketed ?? v4 ?? v6
  return address === undefined || (bracketed !== undefined && isIP(bracketed) !== 6)
    ? undefined
    : normalizeAddress(address)
}

const FORWARDED_PAIR = /^\s*([!#$%&'*+.^_`|~\w-]+)=("(?:[^"\\]|\\.)*"|[^\s";]*)\s*$/

/** Returns the only `for` of an element of `Forwarded`; an empty text if it has none, or is malformed. */
function forParameter(element: string): string {
  const pairs = element.split(';').map((pair) => FORWARDED_PAIR.exec(pair))
  const nodes = pairs.flatMap((pair) => (pair?.[1]?.toLowerCase() === 'for' ? [pair[2] ?? ''] : []))
  return pairs.includes(null) || nodes.length !== 1 ? '' : (nodes[0] ?? '')
}

/** What the address of a client depends on. */
interface AddressedRequest {
  readonly raw: {
    readonly socket: { readonly remoteAddress?: string | undefined }
    readonly headers: IncomingHttpHeaders
  }
}

export type AddressOf = (request: AddressedRequest) => FoundAddress

/**
 * As `clientAddress`, for requests. `addressOf` returns the function for the settings in use. `warn` is called with a header
 * that cannot be read.
 */
export function addressOfRequests(
  addressOf: () => ClientAddress,
  warn: (fields: { readonly header: string; readonly proxy: string }) => void = () => undefined,
): AddressOf {
  return ({ raw }) => {
    const found = addressOf()(raw.socket.remoteAddress ?? '', raw.headers)
    if (found.unreadable !== undefined) warn({ header: found.unreadable, proxy: found.address })
    return found
  }
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
  const isInside = (address: string): boolean => {
    const family = isIP(address) === 4 ? 'ipv4' : 'ipv6'
    return isIP(address) !== 0 && lists[family].check(address, family)
  }
  return (address) => checked.getOrCreate(address, isInside)
}
