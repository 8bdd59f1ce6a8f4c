/**
 * The configuration file: YAML 1.2 (`yes` and `on` are text), parsed strictly, with the place of every value. And the faults of
 * the configuration: each one has its place and a remedy.
 */
import { createReadStream } from 'node:fs'
import { basename } from 'node:path'
import { type Document, isPair, isScalar, LineCounter, type ParsedNode, parseDocument } from 'yaml'
import { findSimilar } from '../core/errors.ts'
import { isObject } from '../core/values.ts'
import { formatPath, type Path, startsWith } from './tree.ts'

export interface ConfigSource {
  readonly tree: Record<string, unknown>
  readonly faults: readonly Fault[]
  /** Returns the place of a value; for a value that is not written, the place of the group that should hold it. */
  readonly place: (path: Path, target?: 'key' | 'value') => { place: string; order: number }
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
  const document = parseDocument(text, { lineCounter: lines, uniqueKeys: true, version: '1.2', prettyErrors: false })
  const at = (offset: number): { place: string; order: number } => {
    const { line, col } = lines.linePos(offset)
    return { place: `${name}:${line}:${col}`, order: offset }
  }
  const faults: Fault[] = [...document.errors, ...document.warnings].map((problem) => ({
    ...at(problem.pos[0]),
    path: [],
    message: problem.code === 'DUPLICATE_KEY' ? 'this key is written twice; keep one' : `not YAML: ${problem.message}`,
  }))
  const tree = faults.length > 0 ? {} : toTree(document, faults, name)
  return { tree, faults, place: (path, target = 'value') => at(offsetOf(document, path, target)) }
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

/** Follows the path as far as it is written. */
function offsetOf(document: Document.Parsed, path: Path, target: 'key' | 'value'): number {
  for (let length = path.length; length > 0; length--) {
    const prefix = path.slice(0, length)
    const parent: unknown = length === 1 ? document.contents : document.getIn(prefix.slice(0, -1), true)
    const pair = isCollection(parent)
      ? parent.items.find((item) => isPair(item) && keyOf(item.key) === prefix.at(-1))
      : null
    const isKey = target === 'key' && length === path.length && isPair(pair)
    const node: unknown = isKey ? pair.key : document.getIn(prefix, true)
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

function failedSource(name: string, message: string): ConfigSource {
  return { tree: {}, faults: [{ place: name, order: 0, path: [], message }], place: () => ({ place: name, order: 0 }) }
}

/** Returns the code of a failed system call, such as `ENOENT`. */
export function codeOf(error: unknown): string {
  return isObject(error) && typeof error.code === 'string' ? error.code : 'unknown error'
}

export interface Fault {
  /** `edge.yaml:3:9`, the name of an environment variable, or empty. */
  readonly place: string
  readonly path: Path
  readonly message: string
  /** Position in the file; faults of the environment come last. */
  readonly order: number
}

/** The order of faults outside the file. */
export const ORDER_LAST = Number.MAX_SAFE_INTEGER

/** Collects faults and finds the place of each setting, in the file or in the environment. */
export class FaultList {
  readonly #faults: Fault[] = []
  readonly #source: ConfigSource
  readonly #overrides: readonly { readonly variable: string; readonly path: Path }[]

  constructor(source: ConfigSource, overrides: readonly { readonly variable: string; readonly path: Path }[]) {
    this.#source = source
    this.#overrides = overrides
  }

  add(...faults: readonly Fault[]): void {
    this.#faults.push(...faults)
  }

  /** `target`: whether the key is wrong or its value. */
  readonly report = (path: Path, message: string, target: 'key' | 'value' = 'value'): void => {
    const variable = this.variableOf(path)
    const where = variable === undefined ? this.#source.place(path, target) : { place: variable, order: ORDER_LAST }
    this.#faults.push({ ...where, path, message })
  }

  /** Returns the environment variable that set this path, or a group above it. */
  readonly variableOf = (path: Path): string | undefined =>
    this.#overrides.find((override) => startsWith(path, override.path))?.variable

  /** Returns whether there is no fault at this path, above it or below it. */
  readonly isValid = (path: Path): boolean =>
    !this.#faults.some(
      (fault) => fault.path.length > 0 && (startsWith(path, fault.path) || startsWith(fault.path, path)),
    )

  get isEmpty(): boolean {
    return this.#faults.length === 0
  }

  /** Returns lines such as `edge.yaml:3:9 listen.port: must be an integer, got "80"`, in the order of the file. */
  lines(): string[] {
    const sorted = [...this.#faults].sort((a, b) => a.order - b.order)
    return [...new Set(sorted.map(formatFault))]
  }
}

function formatFault({ place, path, message }: Fault): string {
  const where = [place, formatPath(path)].filter((part) => part !== '').join(' ')
  return where === '' ? message : `${where}: ${message}`
}

/** Returns `; did you mean "port"?`, or all candidates if none is similar. */
export function formatSuggestion(word: string, candidates: readonly string[]): string {
  const name = findSimilar(word.slice(0, 64), candidates)
  return name === undefined ? `; known here: ${candidates.join(', ')}` : `; did you mean "${name}"?`
}
