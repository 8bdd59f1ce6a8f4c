/** The answer to `GET /cluster/nodes`, read as foreign input. Addresses in it are not even looked at. */
import { isNodeName, type ListedNode } from './topology.ts'

/** A list beyond these is no list of nodes. */
const MOST_BYTES = 1024 * 1024
const MOST_NODES = 1000
const VERSION = /^v?([0-9]{1,4}\.[0-9]{1,4}\.[0-9]{1,4})$/

/** Undefined when the bytes are no list; entries that are none are left out. */
export function readNodeList(bytes: Buffer): readonly ListedNode[] | undefined {
  if (bytes.length > MOST_BYTES) return undefined
  const items = itemsOf(parse(bytes))
  if (items === undefined || items.length > MOST_NODES) return undefined
  return items.map(readNode).filter((node) => node !== undefined)
}

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString())
  } catch {
    return undefined
  }
}

function itemsOf(answer: unknown): readonly unknown[] | undefined {
  if (member(answer, 'error') !== 0) return undefined
  const items = member(member(answer, 'data'), 'items')
  return Array.isArray(items) ? items : undefined
}

function readNode(item: unknown): ListedNode | undefined {
  const name = member(item, 'name')
  const type = member(item, 'type')
  const version = member(item, 'version')
  if (typeof name !== 'string' || !isNodeName(name) || (type !== 'master' && type !== 'worker')) return undefined
  const number = typeof version === 'string' ? VERSION.exec(version)?.[1] : undefined
  return { name, type, ...(number !== undefined && { version: number }) }
}

function member(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
  return (value as Readonly<Record<string, unknown>>)[name]
}
