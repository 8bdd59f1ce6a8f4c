/**
 * The master's list of nodes as foreign input: in the response of a node, and as another replica published it. Addresses
 * in it are ignored, and names are checked.
 */
import { ownField, parseJson } from '../core/values.ts'
import { isNodeName, type ListedNode } from './topology.ts'

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
