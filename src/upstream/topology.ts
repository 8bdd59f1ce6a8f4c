/**
 * The nodes of the cluster: those of the settings, which have an address, and those that the master lists. Clients send
 * node names, so names are looked up in a Map: `__proto__` is just another unknown name. The list is foreign input, in
 * the response of a node, and as another replica published it: addresses in it are ignored, and names are checked.
 */
import type { NodeInfo } from '../core/node-call.ts'
import { ownField, parseJson } from '../core/values.ts'
import type { NodeSetting } from './options.ts'

export interface ListedNode {
  readonly name: string
  readonly type: 'master' | 'worker'
  readonly version?: string
}

export function isNodeName(name: string): boolean {
  return /^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,254}$/.test(name)
}

export interface Topology {
  readonly settings: readonly NodeSetting[]
  /** The master's latest list; `undefined` before the first one. */
  readonly list: readonly ListedNode[] | undefined
  /** The configured master first, then a master without address, then the workers, by name. */
  readonly nodes: readonly NodeInfo[]
  readonly byName: ReadonlyMap<string, NodeInfo>
  readonly master: NodeInfo
}

/**
 * Joins the nodes of the settings and those of the list, if there is one. The settings take precedence: a configured node
 * has its type and address, whether or not the list has it. `withoutApi`: nodes whose addresses are not used.
 */
export function createTopology(
  settings: readonly NodeSetting[],
  list?: readonly ListedNode[],
  withoutApi: ReadonlySet<string> = new Set(),
): Topology {
  const listed = new Map(list?.map((node) => [node.name, node]))
  const byName = new Map<string, NodeInfo>(list?.map((node) => [node.name, { ...node, addressed: false }]))
  for (const { name, type } of settings) {
    const version = listed.get(name)?.version
    const isDisconnected = list !== undefined && !listed.has(name)
    const more = { ...(version !== undefined && { version }), ...(isDisconnected && { isDisconnected }) }
    byName.set(name, { name, type, addressed: !withoutApi.has(name), ...more })
  }
  const nodes = Object.freeze([...byName.values()].map((node) => Object.freeze(node)).sort(compareNodes))
  const master = nodes.find(({ type, addressed }) => type === 'master' && addressed)
  if (master === undefined) throw new Error('cluster.nodes has no master')
  return { settings, list, nodes, byName, master }
}

function compareNodes(a: NodeInfo, b: NodeInfo): number {
  const rank = (node: NodeInfo) => (node.type === 'worker' ? 2 : node.addressed ? 0 : 1)
  return rank(a) - rank(b) || (a.name < b.name ? -1 : 1)
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
 * lacks the master: in the v4 layout a caller without permission gets an empty list.
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
  // The v4 layout has other names for both.
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
