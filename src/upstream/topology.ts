/**
 * The nodes of the cluster: those of the settings, which have an address, and those that the master lists. Clients send
 * node names, so names are looked up in Maps: `__proto__` is just another unknown name. The list is foreign input, in
 * the response of a node, and as another replica published it: addresses in it are ignored, and names are checked.
 */
import type { NodeInfo, NodeVersions } from '../core/node-call.ts'
import { ownField, parseJson } from '../core/values.ts'
import type { NodeSetting } from './options.ts'

/** A node in the master's list. */
export interface ListedNode {
  readonly name: string
  readonly type: 'master' | 'worker'
  readonly version?: string
}

/** Returns whether a node can have this name. */
export function isNodeName(name: string): boolean {
  return /^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,254}$/.test(name)
}

export class Topology {
  #settings: ReadonlyMap<string, NodeSetting> = new Map()
  #listed: ReadonlyMap<string, ListedNode> | undefined
  #nodes: ReadonlyMap<string, NodeInfo> = new Map()
  #ordered: readonly NodeInfo[] = []
  #master: NodeInfo

  constructor(settings: readonly NodeSetting[]) {
    this.#master = this.configure(settings)
  }

  /** Replaces the nodes of the settings. Throws with a remedy, and changes nothing, if they do not form a cluster. */
  configure(settings: readonly NodeSetting[]): NodeInfo {
    checkNodes(settings)
    this.#settings = new Map(settings.map((setting) => [setting.name, setting]))
    return this.#rebuild()
  }

  /** Replaces the master's list. Returns the names that are new in it and those that are no longer in it. */
  updateList(list: readonly ListedNode[]): { readonly added: readonly string[]; readonly removed: readonly string[] } {
    const before = this.#listed
    const now = new Map(list.map((node) => [node.name, node]))
    this.#listed = now
    this.#rebuild()
    const removed = [...(before?.keys() ?? [])].filter((name) => !now.has(name))
    return { added: [...now.keys()].filter((name) => before?.has(name) !== true), removed }
  }

  /** From now on the nodes are those of the settings, until the next list. */
  forgetList(): void {
    this.#listed = undefined
    this.#rebuild()
  }

  /** Returns the configured master first, then a master without address, then the workers, by name. */
  readonly nodes = (): readonly NodeInfo[] => this.#ordered

  find(name: string): NodeInfo | undefined {
    return this.#nodes.get(name)
  }

  readonly master = (): NodeInfo => this.#master

  /** Returns `undefined` before the first list. */
  isListed(name: string): boolean | undefined {
    return this.#listed?.has(name)
  }

  /** The settings take precedence: a configured node keeps its type and address, whether or not the list has it. */
  #rebuild(): NodeInfo {
    const nodes = new Map<string, NodeInfo>()
    for (const { name, type } of this.#settings.values()) {
      const listed = this.#listed?.get(name)
      const info = infoOf({ name, type, ...versionOf(listed) }, true)
      const isDisconnected = this.#listed !== undefined && listed === undefined
      nodes.set(name, isDisconnected ? Object.freeze({ ...info, isDisconnected }) : info)
    }
    for (const listed of this.#listed?.values() ?? []) {
      if (!nodes.has(listed.name)) nodes.set(listed.name, infoOf(listed, false))
    }
    const ordered = [...nodes.values()].sort(compareNodes)
    const master = ordered.find((node) => node.type === 'master' && node.addressed)
    if (master === undefined) throw new Error('cluster.nodes: no node has the type master; exactly one must have it')
    this.#nodes = nodes
    this.#ordered = Object.freeze(ordered)
    this.#master = master
    return master
  }
}

/** Throws with a remedy if the nodes do not form a cluster. */
export function checkNodes(settings: readonly NodeSetting[]): void {
  const names = new Set(settings.map(({ name }) => name))
  const masters = settings.filter(({ type }) => type === 'master')
  if (names.size < settings.length) throw new Error('cluster.nodes: two nodes have the same name; rename one')
  if (masters.length !== 1) {
    throw new Error(`cluster.nodes: ${masters.length} nodes have the type master; exactly one must have it`)
  }
  for (const { name } of settings) {
    if (!isNodeName(name)) {
      throw new Error(`cluster.nodes: ${name} is not a valid node name; use letters, digits, . _ and -`)
    }
  }
}

function infoOf(node: ListedNode, addressed: boolean): NodeInfo {
  return Object.freeze({ name: node.name, type: node.type, addressed, ...versionOf(node) })
}

function versionOf(node: ListedNode | undefined): { version?: string } {
  return node?.version === undefined ? {} : { version: node.version }
}

function compareNodes(a: NodeInfo, b: NodeInfo): number {
  const rank = (node: NodeInfo) => (node.type === 'worker' ? 2 : node.addressed ? 0 : 1)
  return rank(a) - rank(b) || (a.name < b.name ? -1 : 1)
}

/** A node may be upgraded. Its list has the new version within 30 s, and the node itself shows it at once. */
const KNOWN_FOR_MS = 60_000

/**
 * Returns the versions of nodes: as they have shown them, or as the list of nodes has them. `listed`: returns the version of
 * a node in the list, which is read again at intervals.
 */
export function createNodeVersions(listed: (node: string) => string | undefined, clock: () => number): NodeVersions {
  const shown = new Map<string, { readonly version: string; readonly until: number }>()
  return {
    of: (node) => {
      const own = shown.get(node)
      if (own !== undefined && own.until > clock()) return own.version
      shown.delete(node)
      return listed(node)
    },
    note: (node, version) => {
      shown.set(node, { version, until: clock() + KNOWN_FOR_MS })
    },
  }
}

/** A list of nodes that a replica has read from the master. */
export interface ReadNodeList {
  readonly nodes: readonly ListedNode[]
  /** Milliseconds since the list was read. */
  readonly ago: number
}

const MAX_LIST_BYTES = 1024 * 1024
const MAX_NODES = 1000
const VERSION = /^v?([0-9]{1,4}\.[0-9]{1,4}\.[0-9]{1,4})$/

/**
 * Parses the response of the master. Items that are not nodes are left out. Returns `undefined` if it is not a list, or if it
 * lacks the master: in the newer layout a caller without permission gets an empty list.
 */
export function parseNodeList(bytes: Buffer): readonly ListedNode[] | undefined {
  const nodes = itemsOf(bytes)
    ?.items.map(parseNode)
    .filter((node) => node !== undefined)
  return nodes?.some(({ type }) => type === 'master') ? nodes : undefined
}

/** As `parseNodeList`, for a response that may be one page: returns `undefined` if it does not have all nodes. */
export function parseWholeNodeList(bytes: Buffer): readonly ListedNode[] | undefined {
  const { items = [], total } = itemsOf(bytes) ?? {}
  if (total !== items.length) return undefined
  const nodes = items.map(parseNode).filter((node) => node !== undefined)
  return isCluster(nodes) ? nodes : undefined
}

/**
 * Parses a list that another replica published through Redis, where other programs may write as well. Such a list was
 * read from a master, so a single item that is not a node makes the list invalid. Returns `undefined` then.
 */
export function parsePublishedList(value: unknown): ReadNodeList | undefined {
  const ago = ownField(value, 'ago')
  const items = ownField(value, 'nodes')
  if (typeof ago !== 'number' || !Number.isFinite(ago) || ago < 0) return undefined
  if (!Array.isArray(items) || items.length > MAX_NODES) return undefined
  const nodes = items.map(parseNode).filter((node) => node !== undefined)
  return nodes.length === items.length && isCluster(nodes) ? { nodes, ago } : undefined
}

function itemsOf(bytes: Buffer): { readonly items: readonly unknown[]; readonly total: unknown } | undefined {
  if (bytes.length > MAX_LIST_BYTES) return undefined
  const response = parseJson(bytes)
  if (ownField(response, 'error') !== 0) return undefined
  const data = ownField(response, 'data')
  // The newer layout has other names for both.
  const items = ownField(data, 'items') ?? ownField(data, 'affected_items')
  if (!Array.isArray(items) || items.length > MAX_NODES) return undefined
  return { items, total: ownField(data, 'totalItems') ?? ownField(data, 'total_affected_items') }
}

/** Whether the names are unique and one of the nodes is the master. */
function isCluster(nodes: readonly ListedNode[]): boolean {
  const names = new Set(nodes.map(({ name }) => name))
  return names.size === nodes.length && nodes.filter(({ type }) => type === 'master').length === 1
}

/** Returns `undefined` for an item that is not a node. */
function parseNode(item: unknown): ListedNode | undefined {
  const name = ownField(item, 'name')
  const type = ownField(item, 'type')
  const version = ownField(item, 'version')
  if (typeof name !== 'string' || !isNodeName(name) || (type !== 'master' && type !== 'worker')) return undefined
  const number = typeof version === 'string' ? VERSION.exec(version)?.[1] : undefined
  return { name, type, ...(number !== undefined && { version: number }) }
}
