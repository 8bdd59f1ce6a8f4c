/** The addresses of nodes: their URLs in `cluster.nodes`, and the networks in which they must be (`cluster.addresses`). */
import { lookup as resolveHost } from 'node:dns'
import { BlockList, isIP, type LookupFunction } from 'node:net'
import { normalizeAddress, parseAddressRange } from '../core/values.ts'
import type { NodeSetting } from './options.ts'

type AllowedAddresses = ReturnType<typeof createAllowedAddresses>

/** Throws for a text that is no range. An empty list allows every address. */
export function createAllowedAddresses(ranges: readonly string[]) {
  const lists = { ipv4: new BlockList(), ipv6: new BlockList() }
  for (const range of ranges) {
    const parsed = parseAddressRange(range)
    if (parsed === undefined) throw new Error(`cluster.addresses: ${range} is no range of addresses`)
    lists[parsed.family].addSubnet(parsed.address, parsed.prefix, parsed.family)
  }
  // One list per family: BlockList also matches an IPv4 address with an IPv6 range such as `::/64`.
  const includes = (address: string): boolean => {
    const normal = normalizeAddress(address)
    if (ranges.length === 0 || normal === undefined) return ranges.length === 0
    const family = isIP(normal) === 4 ? 'ipv4' : 'ipv6'
    return lists[family].check(normal, family)
  }
  /** Resolves a host name to its allowed addresses. Connections use it directly, so no name is resolved twice. */
  const lookup: LookupFunction = (hostname, options, callback) => {
    resolveHost(hostname, { ...options, all: true }, (error, found) => {
      if (error !== null) return callback(error, '')
      const allowed = found.filter(({ address }) => includes(address))
      const [first] = allowed
      if (first === undefined) {
        const reason = new Error(`no address of ${hostname} is allowed`)
        return callback(Object.assign(reason, { code: 'ERR_ADDRESS_NOT_ALLOWED' }), '')
      }
      if (options.all === true) callback(null, allowed)
      else callback(null, first.address, first.family)
    })
  }
  return { includes, lookup }
}

/**
 * Throws with a remedy for an address outside the allowed ranges. Host names are checked when they are resolved; addresses are
 * never resolved.
 */
export function checkUrl({ name, url }: NodeSetting, allowed: AllowedAddresses): void {
  const host = new URL(url).hostname.replace(/^\[|\]$/g, '')
  if (isIP(host) !== 0 && !allowed.includes(host)) {
    throw new Error(`cluster.nodes: the address of ${name} is outside cluster.addresses; add its network there`)
  }
}
