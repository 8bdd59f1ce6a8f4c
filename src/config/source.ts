/** The configuration file: YAML 1.2 (`yes` and `on` are text), parsed strictly, with the place of every value. */
import { createReadStream } from 'node:fs'
import { basename } from 'node:path'
import { type Document, isMap, isPair, isScalar, LineCounter, type ParsedNode, parseDocument, visit } from 'yaml'
import { isObject } from '../core/values.ts'
import type { Fault, PlaceOf } from './faults.ts'
import type { Path } from './tree.ts'

interface ConfigSource {
  readonly tree: Record<string, unknown>
  readonly faults: readonly Fault[]
  readonly place: PlaceOf
}

const MAX_FILE_BYTES = 1024 * 1024

/** A configuration has few aliases. More expanded aliases than this are an alias bomb. */
const MAX_ALIASES = 20

export const NO_SOURCE: ConfigSource = { tree: {}, faults: [], place: () => ({ place: '', order: 0 }) }

/** Reads a file. A file that cannot be read is a fault; nothing is thrown. */
export async function readConfigFile(file: string): Promise<ConfigSource> {
  const name = basename(file)
  let bytes: Buffer
  try {
    bytes = await readStart(file)
  } catch (error) {
    const remedy = 'name an existing, readable file with --config or EDGE_CONFIG'
    return failedSource(name, `cannot be read (${codeOf(error)}); ${remedy}`)
  }
  if (bytes.length > MAX_FILE_BYTES) return failedSource(name, 'is larger than 1 MiB; name a configuration file')
  return parse(name, bytes.toString('utf8'))
}

/** Reads at most one byte more than a configuration file may have: a running edge must not read a file of any size. */
async function readStart(file: string): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of createReadStream(file, { end: MAX_FILE_BYTES })) chunks.push(chunk)
  return Buffer.concat(chunks)
}

function parse(name: string, text: string): ConfigSource {
  const lines = new LineCounter()
  // The parser compares each key with all others of its group; `findDuplicates` takes linear time.
  const document = parseDocument(text, { lineCounter: lines, uniqueKeys: false, version: '1.2', prettyErrors: false })
  const at = (offset: number): ReturnType<PlaceOf> => {
    const { line, col } = lines.linePos(offset)
    return { place: `${name}:${line}:${col}`, order: offset }
  }
  const faults: Fault[] = [...document.errors, ...document.warnings].map((problem) => ({
    ...at(problem.pos[0]),
    path: [],
    message: `not YAML: ${problem.message}`,
  }))
  for (const offset of findDuplicates(document)) {
    faults.push({ ...at(offset), path: [], message: 'this key is written twice; keep one' })
  }
  const tree = faults.length > 0 ? {} : toTree(document, faults, name)
  const childOf = createIndex()
  return { tree, faults, place: (path, target = 'value') => at(offsetOf(document, childOf, path, target)) }
}

function toTree(document: Document.Parsed, faults: Fault[], name: string): Record<string, unknown> {
  const fail = (message: string): Record<string, unknown> => {
    faults.push({ place: name, order: 0, path: [], message })
    return {}
  }
  try {
    const tree: unknown = document.toJS({ maxAliasCount: MAX_ALIASES }) ?? {}
    return isObject(tree) ? tree : fail('must be a group of settings such as "listen: { port: 55000 }"')
  } catch {
    return fail('expands too many aliases; write the values out')
  }
}

/** Returns the places of the keys that their group has already. */
function findDuplicates(document: Document.Parsed): number[] {
  const offsets: number[] = []
  visit(document, {
    Map: (_key, map) => {
      const seen = new Set<unknown>()
      for (const { key } of map.items) {
        if (!isScalar(key)) continue
        if (seen.has(key.value) && isNode(key)) offsets.push(key.range[0])
        seen.add(key.value)
      }
    },
  })
  return offsets
}

type ChildOf = (parent: unknown, key: unknown) => unknown

/** Returns a function that finds an item of a list, or the pair of a key of a group, without a search in a large group. */
function createIndex(): ChildOf {
  const indexes = new WeakMap<object, Map<unknown, unknown>>()
  return (parent, key) => {
    if (!isCollection(parent)) return undefined
    if (!isMap(parent)) return parent.items[Number(key)]
    const index =
      indexes.get(parent) ?? new Map(parent.items.map((pair) => [isScalar(pair.key) ? pair.key.value : pair.key, pair]))
    indexes.set(parent, index)
    return index.get(key)
  }
}

/** Follows the path as far as it is written. */
function offsetOf(document: Document.Parsed, childOf: ChildOf, path: Path, target: 'key' | 'value'): number {
  let parent: unknown = document.contents
  let offset = 0
  for (const [at, key] of path.entries()) {
    const found = childOf(parent, key)
    const node = isPair(found) ? found.value : found
    const isKey = target === 'key' && at === path.length - 1
    const place = isPair(found) && (isKey || !isNode(node)) ? found.key : node
    if (!isNode(place)) break
    offset = place.range[0]
    parent = node
  }
  return offset
}

function isCollection(node: unknown): node is { items: unknown[] } {
  return isObject(node) && Array.isArray(node.items)
}

function isNode(node: unknown): node is ParsedNode {
  return isObject(node) && Array.isArray(node.range)
}

function failedSource(name: string, message: string): ConfigSource {
  return { tree: {}, faults: [{ place: name, order: 0, path: [], message }], place: () => ({ place: name, order: 0 }) }
}

/** Returns the code of a failed system call, such as `ENOENT`. */
export function codeOf(error: unknown): string {
  return isObject(error) && typeof error.code === 'string' ? error.code : 'unknown error'
}
