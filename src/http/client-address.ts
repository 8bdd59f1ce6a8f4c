import type { IncomingMessage } from 'node:http'
import { BlockList, isIP } from 'node:net'
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
    let client = normalAddress(peer) ?? peer
    const hops = forwarded === undefined ? [] : forwarded.split(',')
    while (hops.length > 0 && isTrusted(client)) {
      const hop = normalAddress(hops.pop()?.trim() ?? '')
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
  return ({ raw }) => isTrusted(normalAddress(raw.socket.remoteAddress ?? '') ?? '')
}

/**
 * Both families have a list of their own: a range such as `::/64` also holds every IPv4 address in its mapped
 * form, and BlockList would match it (the trap of CVE-2026-92395).
 */
function trustIn(ranges: readonly string[]): (address: string) => boolean {
  const lists = { ipv4: new BlockList(), ipv6: new BlockList() }
  for (const range of ranges) {
    const [address = '', prefix] = range.split('/')
    const normal = normalAddress(address)
    const family = isIP(normal ?? '') === 4 ? 'ipv4' : 'ipv6'
    if (normal === undefined || (family === 'ipv4') !== (isIP(address) === 4)) {
      throw new Error(`${range} is no plain range of addresses; write IPv4 ranges in IPv4 form`)
    }
    lists[family].addSubnet(normal, prefix === undefined ? (family === 'ipv4' ? 32 : 128) : Number(prefix), family)
  }
  return (address) => {
    const family = isIP(address) === 4 ? 'ipv4' : 'ipv6'
    return isIP(address) !== 0 && lists[family].check(address, family)
  }
}

/** IPv4 for IPv4-mapped forms, IPv6 compressed and in lower case; `undefined` for anything but an address. */
export function normalAddress(text: string): string | undefined {
  const family = isIP(text)
  if (family === 4) return text
  if (family === 0 || text.includes('%')) return undefined
  const compressed = new URL(`http://[${text}]`).hostname.slice(1, -1)
  const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(compressed)
  if (!mapped) return compressed
  const number = Number.parseInt(mapped[1] ?? '', 16) * 65_536 + Number.parseInt(mapped[2] ?? '', 16)
  return [24, 16, 8, 0].map((shift) => (number >>> shift) & 255).join('.')
}
