/** The nodes to which the edge is connected, by name. */
import type { CallNode } from '../core/node-call.ts'
import { checkUrl, createAllowedAddresses } from './addresses.ts'
import { notSent } from './call.ts'
import { createLayoutState } from './layouts.ts'
import { UpstreamNode, type UpstreamNodeOptions } from './node.ts'
import type { ClusterOptions, ClusterSettings, NodeCredentials, NodeSetting } from './options.ts'
import { createAccounts } from './tokens/login.ts'
import type { Issue, Verify } from './tokens/token-calls.ts'
import { createContext, createRequestHeaders, createTransport } from './transport.ts'

/** What may change of the connections to all nodes. Absent: unchanged. */
export type ConnectionChanges = Pick<ClusterOptions, 'tls' | 'allowedAddresses'> & {
  readonly credentials?: NodeCredentials
}

/** How nodes are connected to. */
type Connecting = ReturnType<typeof createConnecting>

/** Throws for ranges that cannot be parsed. */
function createConnecting(
  { tls, allowedAddresses, credentials }: Required<ConnectionChanges>,
  { untracedTraceparent }: ClusterSettings,
) {
  const headers = createRequestHeaders(credentials, untracedTraceparent)
  const allowed = createAllowedAddresses(allowedAddresses)
  return { tls, allowedAddresses, credentials, allowed, headers, accountOf: createAccounts(credentials) }
}

const NO_ADDRESS = { fault: 'unreachable', reason: 'noAddress' } as const

/** What the calls to all nodes share. */
type SharedParts = Pick<
  UpstreamNodeOptions,
  'drained' | 'passedOn' | 'confirmLayout' | 'onRecover' | 'onProbe' | 'onVersion' | 'releaseOf'
>

/** The nodes with an address: created from the settings, reused over a reload, retired when the settings drop them. */
export class ConnectedNodes {
  readonly byName = new Map<string, UpstreamNode>()
  readonly #settings: ClusterSettings
  readonly #shared: SharedParts
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

  readonly call: CallNode = (call) =>
    this.byName.get(call.node)?.call(call) ?? Promise.resolve(notSent(call, NO_ADDRESS))

  /** Checks the credentials of the call, which is a read that every account may send. */
  readonly verify: Verify = async (call) =>
    this.byName.get(call.node)?.authorizer.verify(call) ?? notSent(call, NO_ADDRESS)

  /** Returns a token of the node for the user whose credentials the call has. */
  readonly issue: Issue = async (call, refused) =>
    this.byName.get(call.node)?.authorizer.issue(call, refused) ?? notSent(call, NO_ADDRESS)

  /** Returns how these nodes are connected to after these changes. Throws with a remedy for what cannot be used. */
  prepare(changes: ConnectionChanges, nodes: readonly NodeSetting[]): Connecting {
    const isChanged = Object.keys(changes).length > 0
    if (changes.tls !== undefined) createContext(changes.tls)
    const connecting = isChanged
      ? createConnecting({ ...this.#connecting, ...changes }, this.#settings)
      : this.#connecting
    for (const node of nodes) checkUrl(node, connecting.allowed)
    return connecting
  }

  /** Connects to the nodes in this way from now on, and applies changed limits. */
  reconfigure(connecting: Connecting): void {
    const { inFlight } = this.#settings.limits()
    if (connecting === this.#connecting && inFlight === this.#inFlight) return
    this.#connecting = connecting
    this.#inFlight = inFlight
    const { tls, allowed, headers } = connecting
    for (const node of this.byName.values()) node.reconfigure({ tls, lookup: allowed.lookup, headers })
  }

  /** Replaces the nodes. A node with the same name and URL keeps its connections, health and limit. */
  replace(settings: readonly NodeSetting[]): void {
    const before = new Map(this.byName)
    this.byName.clear()
    for (const setting of settings) {
      const known = before.get(setting.name)
      const isSame = known?.url === setting.url
      this.byName.set(setting.name, isSame ? known : this.#createNode(setting, known))
      if (isSame) before.delete(setting.name)
    }
    for (const node of before.values()) {
      this.#retiring.add(node)
      void node.retire().then(() => this.#retiring.delete(node))
    }
  }

  #createNode(setting: NodeSetting, before: UpstreamNode | undefined): UpstreamNode {
    const { limits, connectTimeout, layout } = this.#settings
    const { tls, allowed, headers } = this.#connecting
    return new UpstreamNode({
      ...this.#settings,
      ...this.#shared,
      setting,
      // The node at the new address most likely has the layout of the earlier one, and is asked at once.
      layoutState: before?.layout ?? createLayoutState(layout),
      transport: createTransport({ url: setting.url, tls, limits, connectTimeout, lookup: allowed.lookup, headers }),
      accountOf: (call) => this.#connecting.accountOf(call),
    })
  }

  /** Aborts all calls and closes all connections. */
  async destroy(): Promise<void> {
    await Promise.all([...this.byName.values(), ...this.#retiring].map((node) => node.destroy()))
  }
}
