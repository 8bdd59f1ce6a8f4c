/** The settings file: YAML 1.2 (`yes` and `on` are text), read strictly, with the place of every value. */
import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { type Document, isPair, isScalar, LineCounter, type ParsedNode, parseDocument } from 'yaml'
import type { Fault } from './faults.ts'
import { isObject, type Path } from './tree.ts'

const LARGEST = 1024 * 1024

export interface Source {
  readonly tree: Record<string, unknown>
  readonly faults: readonly Fault[]
  /** Where the value stands, or, for what is not written, the group that should hold it. */
  readonly place: (path: Path, of?: 'key' | 'value') => { place: string; order: number }
}

export const noFile: Source = { tree: {}, faults: [], place: () => ({ place: '', order: 0 }) }

/** Reads a file; what cannot be read is a fault, never a throw. */
export async function readSource(file: string): Promise<Source> {
  const name = basename(file)
  let text: string
  try {
    text = await readFile(file, 'utf8')
  } catch (cause) {
    return failed(
      name,
      `cannot be read (${codeOf(cause)}); name an existing, readable file with --config or EDGE_CONFIG`,
    )
  }
  if (text.length > LARGEST) return failed(name, 'is larger than 1 MiB; that is no settings file')
  return parse(name, text)
}

function parse(name: string, text: string): Source {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, uniqueKeys: true, version: '1.2', prettyErrors: false })
  const at = (offset: number): { place: string; order: number } => {
    const { line, col } = lines.linePos(offset)
    return { place: `${name}:${line}:${col}`, order: offset }
  }
  const faults: Fault[] = [...document.errors, ...document.warnings].map((problem) => ({
    ...at(problem.pos[0]),
    path: [],
    says: problem.code === 'DUPLICATE_KEY' ? 'this key stands twice; keep one' : `not YAML: ${problem.message}`,
  }))
  const tree = faults.length > 0 ? {} : plain(document, faults, name)
  return { tree, faults, place: (path, of = 'value') => at(offsetOf(document, path, of)) }
}

function plain(document: Document.Parsed, faults: Fault[], name: string): Record<string, unknown> {
  const refuse = (says: string): Record<string, unknown> => {
    faults.push({ place: name, order: 0, path: [], says })
    return {}
  }
  try {
    // Settings repeat little: more than a handful of expanded aliases is an alias bomb.
    const tree: unknown = document.toJS({ maxAliasCount: 20 }) ?? {}
    return isObject(tree) ? tree : refuse('must be a group of settings such as "listen: { port: 55000 }"')
  } catch {
    return refuse('expands too many aliases; write the values out')
  }
}

/** Follows the path as far as it is written. */
function offsetOf(document: Document.Parsed, path: Path, of: 'key' | 'value'): number {
  for (let length = path.length; length > 0; length--) {
    const here = path.slice(0, length)
    const parent: unknown = length === 1 ? document.contents : document.getIn(here.slice(0, -1), true)
    const pair = isCollection(parent)
      ? parent.items.find((item) => isPair(item) && keyOf(item.key) === here.at(-1))
      : null
    const node: unknown = of === 'key' && length === path.length && isPair(pair) ? pair.key : document.getIn(here, true)
    if (isNode(node)) return node.range[0]
    if (isPair(pair) && isNode(pair.key)) return pair.key.range[0]
  }
  return 0
}

function keyOf(key: unknown): unknown {
  return isScalar(key) ? key.value : key
}

function isCollection(node: unknown): node is { items: unknown[] } {
  return isObject(node) && Array.isArray(node.items)
}

function isNode(node: unknown): node is ParsedNode {
  return isObject(node) && Array.isArray(node.range)
}

function failed(name: string, says: string): Source {
  return { tree: {}, faults: [{ place: name, order: 0, path: [], says }], place: () => ({ place: name, order: 0 }) }
}

/** `ENOENT`, `EACCES`, … of a failed call. */
export function codeOf(cause: unknown): string {
  return isObject(cause) && typeof cause.code === 'string' ? cause.code : 'unknown fault'
}
