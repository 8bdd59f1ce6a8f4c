/**
 * Who belongs to the cluster: the nodes of the settings, which have addresses, and those that the master lists.
 * Names come from clients, so they are looked up in Maps: `__proto__` is one more unknown name.
 */
import type { NodeInfo } from '../core/node-call.ts'
import type { NodeSetting } from './options.ts'

export interface ListedNode {
  readonly name: string
  readonly type: 'master' | 'worker'
  readonly version?: string
}

/** Could a node have this name at all? */
export function isNodeName(name: string): boolean {
  return /^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,254}$/.test(name)
}

export class Topology {
  #settings: ReadonlyMap<string, NodeSetting> = new Map()
  #list: ReadonlyMap<string, ListedNode> | undefined
  #nodes: ReadonlyMap<string, NodeInfo> = new Map()
  #ordered: readonly NodeInfo[] = []
  #master: NodeInfo

  constructor(settings: readonly NodeSetting[]) {
    this.#master = this.configure(settings)
  }

  /** Throws where the settings do not make a cluster, with the remedy; then the nodes stay as they were. */
  configure(settings: readonly NodeSetting[]): NodeInfo {
    const byName = new Map(settings.map((setting) => [setting.name, setting]))
    const masters = settings.filter(({ type }) => type === 'master')
    if (byName.size < settings.length) throw new Error('cluster.nodes: two nodes have one name; give each its own')
    if (masters.length !== 1) throw new Error(`cluster.nodes: ${masters.length} masters; name exactly one as master`)
    for (const { name } of settings) {
      if (!isNodeName(name)) throw new Error(`cluster.nodes: ${name} is no node name; use letters, digits, . _ and -`)
    }
    this.#settings = byName
    return this.#rebuild()
  }

  /** Takes the master's list over. Gives the names that came and went. */
  learn(list: readonly ListedNode[]): { readonly came: readonly string[]; readonly went: readonly string[] } {
    const before = this.#list
    const now = new Map(list.map((node) => [node.name, node]))
    this.#list = now
    this.#rebuild()
    const went = [...(before?.keys() ?? [])].filter((name) => !now.has(name))
    return { came: [...now.keys()].filter((name) => before?.has(name) !== true), went }
  }

  /** Master first, then by name. */
  nodes(): readonly NodeInfo[] {
    return this.#ordered
  }

  find(name: string): NodeInfo | undefined {
    return this.#nodes.get(name)
  }

  master(): NodeInfo {
    return this.#master
  }

  /** Undefined while no list has come. */
  isListed(name: string): boolean | undefined {
    return this.#list?.has(name)
  }

  /** The settings win: a node of theirs stays with its type and address, in the list or not. */
  #rebuild(): NodeInfo {
    const nodes = new Map<string, NodeInfo>()
    for (const { name, type } of this.#settings.values()) {
      nodes.set(name, info({ name, type, ...version(this.#list?.get(name)) }, true))
    }
    for (const listed of this.#list?.values() ?? []) {
      if (!nodes.has(listed.name)) nodes.set(listed.name, info(listed, false))
    }
    const ordered = [...nodes.values()].sort(order)
    const master = ordered.find((node) => node.type === 'master' && node.addressed)
    if (master === undefined) throw new Error('cluster.nodes: no master')
    this.#nodes = nodes
    this.#ordered = Object.freeze(ordered)
    this.#master = master
    return master
  }
}

function info(node: ListedNode, addressed: boolean): NodeInfo {
  return Object.freeze({ name: node.name, type: node.type, addressed, ...version(node) })
}

function version(node: ListedNode | undefined): { version?: string } {
  return node?.version === undefined ? {} : { version: node.version }
}

function order(a: NodeInfo, b: NodeInfo): number {
  const rank = (node: NodeInfo) => (node.type === 'worker' ? 2 : node.addressed ? 0 : 1)
  return rank(a) - rank(b) || (a.name < b.name ? -1 : 1)
}
