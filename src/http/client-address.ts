import type { IncomingMessage } from 'node:http'
import { BlockList, isIP } from 'node:net'
import { normalizeAddress, parseAddressRange } from '../core/ip-addresses.ts'
import { textOf } from './write-response.ts'
/**
 * Which client stands behind trusted proxies. `X-Forwarded-For` is read from the right, the
 * end that the nearest proxy wrote, and only as far as trusted proxies vouch for it.
 */

/** `peer` is the address of the TCP connection, `forwarded` the header as Node joins it. */
export type ClientAddress = (peer: string, forwarded: string | undefined) => string

/**
 * Gives the address of the client in its one normal form, never a list, a port or foreign text. `trusted` are
 * plain ranges (`10.0.0.0/8`, `fd00::/8`, `192.0.2.1`); what is no such range is refused with an error.
 */
export function clientAddress(trusted: readonly string[]): ClientAddress {
  const isTrusted = trustIn(trusted)
  return (peer, forwarded) => {
    let client = normalizeAddress(peer) ?? peer
    const hops = forwarded === undefined ? [] : forwarded.split(',')
    while (hops.length > 0 && isTrusted(client)) {
      const hop = normalizeAddress(hops.pop()?.trim() ?? '')
      // What a trusted proxy passed on without being an address cannot be vouched for: it is the client then.
      if (hop === undefined) return client
      client = hop
    }
    return client
  }
}

/** The client of a request. */
export type AddressOf = (request: { readonly raw: IncomingMessage }) => string

/** Of requests as they came; `trusted` as above. */
export function addressOfRequests(trusted: readonly string[]): AddressOf {
  const addressOf = clientAddress(trusted)
  return ({ raw }) => addressOf(raw.socket.remoteAddress ?? '', textOf(raw.headers['x-forwarded-for']))
}

/** Was a request sent by a proxy whose headers are believed? */
export function fromTrusted(trusted: readonly string[]): (request: { readonly raw: IncomingMessage }) => boolean {
  const isTrusted = trustIn(trusted)
  return ({ raw }) => isTrusted(normalizeAddress(raw.socket.remoteAddress ?? '') ?? '')
}

/**
 * Returns a check whether an address is in one of the ranges. Each family has its own list: a range such as `::/64`
 * also contains every IPv4 address in its mapped form, and one BlockList would match it (CVE-2026-92395).
 */
function trustIn(ranges: readonly string[]): (address: string) => boolean {
  const lists = { ipv4: new BlockList(), ipv6: new BlockList() }
  for (const range of ranges) {
    const parsed = parseAddressRange(range)
    if (parsed === undefined) throw new Error(`${range} is no range of addresses; write IPv4 ranges in IPv4 form`)
    lists[parsed.family].addSubnet(parsed.address, parsed.prefix, parsed.family)
  }
  return (address) => {
    const family = isIP(address) === 4 ? 'ipv4' : 'ipv6'
    return isIP(address) !== 0 && lists[family].check(address, family)
  }
}
