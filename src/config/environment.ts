/**
 * Settings from the environment: `EDGE_` and the path in capitals (`EDGE_CLUSTER_LIMITS_INFLIGHT`), or the
 * same with `_FILE`, whose file holds the value. Lists and tables are written as YAML (`[a, b]`), lists of
 * words also as `a,b`.
 */
import { readFile } from 'node:fs/promises'
import { parse } from 'yaml'
import { type Fault, LAST, nearest } from './faults.ts'
import { codeOf } from './file.ts'
import { type Leaf, leavesOf, type SchemaNode } from './tree.ts'

const PREFIX = 'EDGE_'
const CONFIG_FILE = 'EDGE_CONFIG'

export interface Override {
  readonly variable: string
  readonly path: readonly string[]
  readonly value: unknown
}

export type Environment = Readonly<Record<string, string | undefined>>

/** A setting that switches off the verification of every certificate at once. */
const UNSAFE = 'NODE_TLS_REJECT_UNAUTHORIZED'

/** Every override that the environment holds; unknown `EDGE_` names are faults. */
export async function readEnvironment(
  environment: Environment,
  schema: SchemaNode,
): Promise<{ overrides: Override[]; faults: Fault[] }> {
  const known = new Map(leavesIn(schema).map((leaf) => [variableOf(leaf.path), leaf]))
  const overrides: Override[] = []
  const faults: Fault[] = []
  for (const [variable, value] of Object.entries(environment)) {
    if (!variable.startsWith(PREFIX) || variable === CONFIG_FILE || value === undefined) continue
    const refuse = (says: string) => faults.push({ place: variable, order: LAST, path: [], says })
    const plain = variable.replace(/_FILE$/, '')
    const leaf = known.get(variable) ?? known.get(plain)
    if (isServiceLink(variable, value)) continue
    if (!leaf) {
      const meant = nearest(variable, [...known.keys()])
      refuse(`is not a setting; ${meant ? `did you mean ${meant}?` : 'take it out of the environment'}`)
    } else if (known.has(variable)) {
      overrides.push({ variable, path: leaf.path, value: interpret(value, leaf.schema) })
    } else if (environment[plain] !== undefined) {
      refuse(`stands beside ${plain}; keep one of the two`)
    } else {
      const read = await secretFrom(value)
      if (read.ok) overrides.push({ variable, path: leaf.path, value: interpret(read.text, leaf.schema) })
      else refuse(`${value} cannot be read (${read.code}); name a readable file`)
    }
  }
  if (environment[UNSAFE] === '0') {
    const says = '0 switches off the verification of all certificates; unset it, and name the CA in cluster.tls.ca'
    faults.push({ place: UNSAFE, order: LAST, path: [], says })
  }
  return { overrides, faults }
}

/** `listen.tls` is a leaf besides its members: it may be `off`. */
function leavesIn(schema: SchemaNode): Leaf[] {
  return [...leavesOf(schema), { path: ['listen', 'tls'], schema: {} }]
}

/** `EDGE_LISTEN_PORT` for `listen.port`. */
export function variableOf(path: readonly string[]): string {
  return PREFIX + path.join('_').toUpperCase()
}

/** Reads a secret; the newline that editors and `echo` leave at the end is cut. */
export async function secretFrom(file: string): Promise<{ ok: true; text: string } | { ok: false; code: string }> {
  try {
    return { ok: true, text: (await readFile(file, 'utf8')).replace(/\r?\n$/, '') }
  } catch (cause) {
    return { ok: false, code: codeOf(cause) }
  }
}

function interpret(text: string, schema: SchemaNode): unknown {
  switch (schema.type) {
    case 'integer':
      return /^-?\d{1,15}$/.test(text) ? Number(text) : text
    case 'number':
      return /^\d{1,15}(?:\.\d{1,15})?$/.test(text) ? Number(text) : text
    case 'boolean':
      return text === 'true' ? true : text === 'false' ? false : text
    case 'array':
      return schema.items?.type !== 'string' || /^\s*[[-]/.test(text) ? structured(text) : words(text)
    case 'object':
      return structured(text)
    default:
      return text
  }
}

function words(text: string): string[] {
  return text.split(',').flatMap((item) => item.trim() || [])
}

function structured(text: string): unknown {
  try {
    return parse(text, { maxAliasCount: 0 })
  } catch {
    return text
  }
}

/**
 * Kubernetes describes a service named `edge` to every pod as `EDGE_SERVICE_HOST`, `EDGE_PORT_55000_TCP`, …,
 * and one named `edge-operations` as `EDGE_OPERATIONS_PORT=tcp://…`: none of these is meant for us.
 */
function isServiceLink(variable: string, value: string): boolean {
  return (
    /_SERVICE_(?:HOST|PORT)(?:_[A-Z0-9_]+)?$/.test(variable) ||
    /_PORT_\d+_(?:TCP|UDP)(?:_(?:PROTO|PORT|ADDR))?$/.test(variable) ||
    (/_PORT$/.test(variable) && /^(?:tcp|udp):\/\//.test(value))
  )
}
