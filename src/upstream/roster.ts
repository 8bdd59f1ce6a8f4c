/** The nodes with an address, by name: opened, kept over a reload where they stay, retired where they go. */
import { isIP } from 'node:net'
import { type Addresses, readAddresses } from './addresses.ts'
import { ClusterNode } from './node.ts'
import type { NodeSetting, NodeTls, Settings } from './options.ts'
import { requestHead } from './request-head.ts'
import { createTransport } from './transport.ts'

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
    const { limits, ejection, log, clock, credentials, onCall, untraced } = this.#settings
    const head = requestHead(credentials, untraced)
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
