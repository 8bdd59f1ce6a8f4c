import { lookup as resolve } from 'node:dns'
import { BlockList, isIP, type LookupFunction } from 'node:net'
import { normalizeAddress, parseAddressRange } from '../core/ip-addresses.ts'
import { ClusterNode } from './node.ts'
import type { NodeSetting, NodeTls, Settings } from './options.ts'
import { createTransport, requestHead } from './transport.ts'

/** Which addresses the nodes may have. */

export interface Addresses {
  allows(address: string): boolean
  /** Resolves a name and keeps what is allowed; used by the connection itself, so nothing is resolved twice. */
  readonly lookup: LookupFunction
}

/** Addresses and CIDRs; throws for what is neither. An empty list allows every address. */
export function readAddresses(ranges: readonly string[]): Addresses {
  const lists = { ipv4: new BlockList(), ipv6: new BlockList() }
  for (const range of ranges) {
    const parsed = parseAddressRange(range)
    if (parsed === undefined)
      throw new Error(`cluster.addresses: ${range} is no CIDR; write it like 10.0.0.10, 10.0.0.0/8 or fd00::/8`)
    lists[parsed.family].addSubnet(parsed.address, parsed.prefix, parsed.family)
  }
  // One list per family: BlockList also matches an IPv4 address with an IPv6 range such as `::/64`.
  const allows = (address: string): boolean => {
    const normal = normalizeAddress(address)
    if (ranges.length === 0 || normal === undefined) return ranges.length === 0
    const family = isIP(normal) === 4 ? 'ipv4' : 'ipv6'
    return lists[family].check(normal, family)
  }
  const lookup: LookupFunction = (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, found) => {
      if (error !== null) return callback(error, '')
      const allowed = found.filter(({ address }) => allows(address))
      const [first] = allowed
      if (first === undefined) return callback(notAllowed(hostname), '')
      if (options.all === true) callback(null, allowed)
      else callback(null, first.address, first.family)
    })
  }
  return { allows, lookup }
}

function notAllowed(hostname: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`no address of ${hostname} is allowed`), { code: 'ERR_ADDRESS_NOT_ALLOWED' })
}

/** The nodes with an address, by name: opened, kept over a reload where they stay, retired where they go. */

export class Roster {
  readonly #settings: Settings
  readonly #addresses: Addresses
  readonly #nodes = new Map<string, ClusterNode>()
  readonly #retiring = new Set<ClusterNode>()
  #tls: NodeTls

  /** Throws for CIDRs that cannot be read. */
  constructor(settings: Settings) {
    this.#settings = settings
    this.#addresses = readAddresses(settings.allowedAddresses)
    this.#tls = settings.tls
  }

  find(name: string): ClusterNode | undefined {
    return this.#nodes.get(name)
  }

  /** Throws for a url that is none, or that lies where no node may be. */
  check(settings: readonly NodeSetting[]): void {
    for (const setting of settings) checkUrl(setting, this.#addresses)
  }

  /** Nodes that stay keep their connections and what is known of their health. */
  replace(settings: readonly NodeSetting[]): void {
    const wanted = new Map(settings.map((setting) => [setting.name, setting]))
    for (const [name, node] of this.#nodes) {
      if (wanted.get(name)?.url === node.setting.url) continue
      this.#nodes.delete(name)
      this.#retiring.add(node)
      void node.retire().then(() => this.#retiring.delete(node))
    }
    for (const setting of settings) {
      if (!this.#nodes.has(setting.name)) this.#nodes.set(setting.name, this.#open(setting))
    }
  }

  renew(tls: NodeTls): void {
    this.#tls = tls
    for (const node of this.#nodes.values()) node.transport.renew(tls)
  }

  async destroy(): Promise<void> {
    await Promise.all([...this.#nodes.values(), ...this.#retiring].map((node) => node.destroy()))
  }

  #open(setting: NodeSetting): ClusterNode {
    const { limits, ejection, log, clock, credentials, onCall, untracedTraceparent } = this.#settings
    const head = requestHead(credentials, untracedTraceparent)
    const transport = createTransport({ url: setting.url, tls: this.#tls, limits, addresses: this.#addresses, head })
    return new ClusterNode({ setting, transport, limits, ejection, log, clock, ...(onCall && { onCall }) })
  }
}

/** Host names are looked at when they are resolved, addresses here, since those are never looked up. */
function checkUrl({ name, url }: NodeSetting, addresses: Addresses): void {
  const { protocol, pathname, hostname, username, password, search, hash } = parse(url)
  if (!/^https?:$/.test(protocol) || pathname !== '/' || username + password + search + hash !== '') {
    throw new Error(`cluster.nodes: the url of ${name} must be http(s)://host:port and nothing more`)
  }
  const host = hostname.replace(/^\[|\]$/g, '')
  if (isIP(host) !== 0 && !addresses.allows(host)) {
    throw new Error(`cluster.nodes: the address of ${name} lies outside cluster.addresses; add its network there`)
  }
}

function parse(url: string): URL {
  return URL.canParse(url) ? new URL(url) : new URL('none:none')
}
