/** The nodes with an address: created from the settings, reused over a reload, retired when the settings drop them. */
import { lookup as resolveHost } from 'node:dns'
import { BlockList, isIP, type LookupFunction } from 'node:net'
import type { CallNode } from '../core/node-call.ts'
import { normalizeAddress, parseAddressRange } from '../core/values.ts'
import { notSent } from './call.ts'
import { UpstreamNode, type UpstreamNodeOptions } from './node.ts'
import { STATUS_PROBE } from './node-response.ts'
import type { ClusterSettings, NodeCredentials, NodeSetting, NodeTls } from './options.ts'
import { createOwnCall } from './probes.ts'
import { reserveAttemptAt } from './tokens/failed-logins.ts'
import { createAccounts } from './tokens/login.ts'
import type { Issue, Verify } from './tokens/token-calls.ts'
import { createContext, createRequestHeaders, createTransport } from './transport.ts'

/** What may change of the connections to all nodes. */
export interface ConnectionChanges {
  readonly tls?: NodeTls
  readonly allowedAddresses?: readonly string[]
  readonly credentials?: NodeCredentials
}

/** How nodes are connected to. */
type Connecting = ReturnType<typeof createConnecting>

/** Throws for ranges that cannot be parsed. */
function createConnecting(settings: Required<ConnectionChanges>, { untracedTraceparent }: ClusterSettings) {
  const { tls, allowedAddresses, credentials } = settings
  return {
    settings: { tls, allowedAddresses, credentials },
    tls,
    allowed: createAllowedAddresses(allowedAddresses),
    headers: createRequestHeaders(credentials, untracedTraceparent),
    accountOf: createAccounts(credentials),
  }
}

/** What the calls to all nodes share. */
type SharedParts = Pick<UpstreamNodeOptions, 'drains' | 'layouts' | 'passedOn' | 'onRecover'>

const NO_ADDRESS = { fault: 'unreachable', detail: 'no address is known' } as const
/** A node that hangs answers after ten seconds. */
const HANG_PROBE_TIMEOUT_MS = 12_000
const PROBE_PAUSE_MS = 1_000

export class NodeRegistry {
  readonly #settings: ClusterSettings
  readonly #shared: SharedParts
  readonly #nodes = new Map<string, UpstreamNode>()
  readonly #retiring = new Set<UpstreamNode>()
  #connecting: Connecting
  /** The limit that pools were made for. */
  #inFlight: number

  /** Throws for ranges that cannot be parsed. */
  constructor(settings: ClusterSettings, shared: SharedParts) {
    this.#settings = settings
    this.#shared = shared
    this.#inFlight = settings.limits().inFlight
    this.#connecting = createConnecting(settings, settings)
  }

  find(name: string): UpstreamNode | undefined {
    return this.#nodes.get(name)
  }

  readonly call: CallNode = async (call) => this.#nodes.get(call.node)?.call(call) ?? notSent(call, NO_ADDRESS)

  /** Checks the credentials of the call, which is a read that every account may send. */
  readonly verify: Verify = async (call) => this.#nodes.get(call.node)?.verify(call) ?? notSent(call, NO_ADDRESS)

  /** Returns a token of the node for the user whose credentials the call has. */
  readonly issue: Issue = async (call, refused) =>
    this.#nodes.get(call.node)?.issue(call, refused) ?? notSent(call, NO_ADDRESS)

  /** Throws with a remedy for an invalid URL, and for an address outside the allowed ranges. */
  check(settings: readonly NodeSetting[], { allowed }: Connecting = this.#connecting): void {
    for (const setting of settings) checkUrl(setting, allowed)
  }

  /** Returns how nodes are connected to after these changes. Throws for PEM and for ranges that cannot be parsed. */
  prepare(changes: ConnectionChanges): Connecting {
    if (Object.keys(changes).length === 0) return this.#connecting
    if (changes.tls !== undefined) createContext(changes.tls)
    return createConnecting({ ...this.#connecting.settings, ...changes }, this.#settings)
  }

  /** Connects to the nodes in this way from now on, and applies changed limits. */
  reconfigure(connecting: Connecting): void {
    const { inFlight } = this.#settings.limits()
    const isChanged = connecting !== this.#connecting || inFlight !== this.#inFlight
    this.#connecting = connecting
    this.#inFlight = inFlight
    if (!isChanged) return
    const { tls, allowed, headers } = connecting
    for (const node of this.#nodes.values()) node.reconfigure({ tls, lookup: allowed.lookup, headers })
  }

  /** Replaces the nodes. A node with the same name and URL keeps its connections, health and limit. */
  replace(settings: readonly NodeSetting[]): void {
    const wanted = new Map(settings.map((setting) => [setting.name, setting]))
    for (const [name, node] of this.#nodes) {
      if (wanted.get(name)?.url === node.setting.url) continue
      this.#nodes.delete(name)
      this.#retiring.add(node)
      void node.retire().then(() => this.#retiring.delete(node))
    }
    for (const setting of settings) {
      if (!this.#nodes.has(setting.name)) this.#nodes.set(setting.name, this.#createNode(setting))
    }
  }

  /** Aborts all calls and closes all connections. */
  async destroy(): Promise<void> {
    await Promise.all([...this.#nodes.values(), ...this.#retiring].map((node) => node.destroy()))
  }

  /** Probes a node that hangs. An answer that shows the hang reports it again. */
  #probeHanging(node: string, probeIn: number): void {
    const probe = async () => {
      const call = { node, ...STATUS_PROBE, timeout: HANG_PROBE_TIMEOUT_MS, caller: 'probe', requestId: 'probe' }
      const result = await this.call(createOwnCall(call))
      if (!result.ok && this.#nodes.get(node)?.health.isHanging) this.#probeHanging(node, PROBE_PAUSE_MS)
    }
    setTimeout(() => void probe(), probeIn).unref()
  }

  #createNode(setting: NodeSetting): UpstreamNode {
    const { limits, connectTimeout, counters, credentials } = this.#settings
    const { name, url } = setting
    const { tls, allowed, headers } = this.#connecting
    // Without an account of the edge, the probe is a call of a client.
    const probe = (probeIn: number) => this.#probeHanging(name, probeIn)
    return new UpstreamNode({
      ...this.#settings,
      ...this.#shared,
      setting,
      transport: createTransport({ url, tls, limits, connectTimeout, lookup: allowed.lookup, headers }),
      reserveAttempt: (pause) => reserveAttemptAt(name, pause, counters),
      ...(credentials.mode === 'service' && { onHang: probe }),
      accountOf: (call) => this.#connecting.accountOf(call),
    })
  }
}

interface AllowedAddresses {
  includes(address: string): boolean
  /** Resolves a host name to its allowed addresses. Connections use it directly, so no name is resolved twice. */
  readonly lookup: LookupFunction
}

/** Throws for ranges that cannot be parsed. An empty list allows every address. */
function createAllowedAddresses(ranges: readonly string[]): AllowedAddresses {
  const lists = { ipv4: new BlockList(), ipv6: new BlockList() }
  for (const range of ranges) {
    const parsed = parseAddressRange(range)
    if (parsed === undefined) {
      throw new Error(
        `cluster.addresses: ${range} is not a CIDR range; write it like 10.0.0.10, 10.0.0.0/8 or fd00::/8`,
      )
    }
    lists[parsed.family].addSubnet(parsed.address, parsed.prefix, parsed.family)
  }
  // One list per family: BlockList also matches an IPv4 address with an IPv6 range such as `::/64`.
  const includes = (address: string): boolean => {
    const normal = normalizeAddress(address)
    if (ranges.length === 0 || normal === undefined) return ranges.length === 0
    const family = isIP(normal) === 4 ? 'ipv4' : 'ipv6'
    return lists[family].check(normal, family)
  }
  const lookup: LookupFunction = (hostname, options, callback) => {
    resolveHost(hostname, { ...options, all: true }, (error, found) => {
      if (error !== null) return callback(error, '')
      const allowed = found.filter(({ address }) => includes(address))
      const [first] = allowed
      if (first === undefined) return callback(notAllowedError(hostname), '')
      if (options.all === true) callback(null, allowed)
      else callback(null, first.address, first.family)
    })
  }
  return { includes, lookup }
}

function notAllowedError(hostname: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`no address of ${hostname} is allowed`), { code: 'ERR_ADDRESS_NOT_ALLOWED' })
}

/** Checks addresses only. Host names are checked when they are resolved; addresses are never resolved. */
function checkUrl({ name, url }: NodeSetting, allowed: AllowedAddresses): void {
  const { protocol, pathname, hostname, username, password, search, hash } = parseUrl(url)
  if (!/^https?:$/.test(protocol) || pathname !== '/' || username + password + search + hash !== '') {
    throw new Error(`cluster.nodes: the url of ${name} must be http(s)://host:port and nothing more`)
  }
  const host = hostname.replace(/^\[|\]$/g, '')
  if (isIP(host) !== 0 && !allowed.includes(host)) {
    throw new Error(`cluster.nodes: the address of ${name} is outside cluster.addresses; add its network there`)
  }
}

/** Returns a URL that fails the checks if the text is not a URL. */
function parseUrl(url: string): URL {
  return URL.canParse(url) ? new URL(url) : new URL('none:none')
}
