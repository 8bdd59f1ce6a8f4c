/**
 * Settings from the environment. The variable of a setting is `EDGE_` and its path in capitals, such as
 * `EDGE_CLUSTER_LIMITS_INFLIGHT`. With `_FILE` at the end, the variable names a file that holds the value. Lists and
 * tables are written as YAML (`[a, b]`), lists of words also as `a,b`.
 */
import { isUtf8 } from 'node:buffer'
import { readFile } from 'node:fs/promises'
import { parse } from 'yaml'
import { findSimilar } from '../core/errors.ts'
import { type Fault, ORDER_LAST } from './faults.ts'
import { describeGone } from './gone-settings.ts'
import { codeOf } from './source.ts'
import { listLeaves, pathOf, type SchemaNode } from './tree.ts'

const PREFIX = 'EDGE_'
const CONFIG_FILE = 'EDGE_CONFIG'
/** The value `0` of this variable turns off the verification of all certificates. */
const UNSAFE_VARIABLE = 'NODE_TLS_REJECT_UNAUTHORIZED'

interface Override {
  readonly variable: string
  readonly path: readonly string[]
  readonly value: unknown
}

export type Environment = Readonly<Record<string, string | undefined>>

interface EnvironmentSettings {
  readonly overrides: readonly Override[]
  readonly faults: readonly Fault[]
  /** The files that variables with `_FILE` name. */
  readonly files: readonly string[]
}

/** Returns the settings of the environment. Unknown `EDGE_` names are faults. */
export async function readEnvironment(environment: Environment, schema: SchemaNode): Promise<EnvironmentSettings> {
  // `listen.tls` may be `off`.
  const leaves = [...listLeaves(schema), { path: ['listen', 'tls'], schema: {} }]
  const known = new Map(leaves.map((leaf) => [toVariable(leaf.path), leaf]))
  const overrides: Override[] = []
  const faults: Fault[] = []
  const files: string[] = []
  for (const [variable, value] of Object.entries(environment)) {
    if (!variable.startsWith(PREFIX) || variable === CONFIG_FILE || value === undefined) continue
    const fail = (message: string) => faults.push({ place: variable, order: ORDER_LAST, path: [], message })
    const base = variable.replace(/_FILE$/, '')
    const suffix = known.has(variable) ? '' : variable.slice(base.length)
    const leaf = known.get(variable) ?? known.get(base)
    if (isServiceLink(variable, value)) continue
    if (!leaf) {
      fail(describeUnknown(variable, [...known.keys()]))
      continue
    }
    if (suffix !== '' && environment[base] !== undefined) {
      fail(`is set together with ${base}; keep one of the two`)
      continue
    }
    if (suffix !== '') files.push(value)
    const read = suffix === '' ? { ok: true as const, text: value } : await readSecret(value)
    if (read.ok) overrides.push({ variable, path: leaf.path, value: parseVariable(read.text, leaf.schema) })
    else fail(describeUnreadable(value, read.code, 'name a readable file'))
  }
  if (environment[UNSAFE_VARIABLE] === '0') {
    const message = '0 turns off the verification of all certificates; unset it, and name the CA in cluster.tls.ca'
    faults.push({ place: UNSAFE_VARIABLE, order: ORDER_LAST, path: [], message })
  }
  return { overrides, faults, files }
}

/** A setting that is gone may be a group, whose members have longer names. */
function describeUnknown(variable: string, known: readonly string[]): string {
  const gone = describeGone((name) => `${variable}_`.startsWith(`${toVariable(pathOf(name))}_`))
  if (gone !== undefined) return gone
  const similar = findSimilar(variable, known)
  return `is not a setting; ${similar ? `did you mean ${similar}?` : 'remove it from the environment'}`
}

/** Returns `EDGE_LISTEN_PORT` for `listen.port`. */
export function toVariable(path: readonly string[]): string {
  return PREFIX + path.join('_').toUpperCase()
}

/** In place of the code of a system call. */
const NOT_UTF8 = 'not UTF-8'

export function describeUnreadable(file: string, code: string, remedy: string): string {
  if (code === 'EISDIR') return `${file} is a folder; name a file in it`
  if (code === 'ENOTDIR') return `a part of the path ${file} is a file, not a folder; correct the path`
  if (code === NOT_UTF8) return `${file} is no UTF-8 text; write it again, or convert it with "iconv -t UTF-8"`
  return `${file} cannot be read (${code}); ${remedy}`
}

/** Reads a secret and removes the newline that editors and `echo` write at the end. */
export async function readSecret(file: string): Promise<{ ok: true; text: string } | { ok: false; code: string }> {
  try {
    const bytes = await readFile(file)
    return isUtf8(bytes) ? { ok: true, text: bytes.toString().replace(/\r?\n$/, '') } : { ok: false, code: NOT_UTF8 }
  } catch (error) {
    return { ok: false, code: codeOf(error) }
  }
}

function parseVariable(text: string, schema: SchemaNode): unknown {
  switch (schema.type) {
    case 'integer':
      return /^-?\d{1,15}$/.test(text) ? Number(text) : text
    case 'number':
      return /^\d{1,15}(?:\.\d{1,15})?$/.test(text) ? Number(text) : text
    case 'boolean':
      return text === 'true' ? true : text === 'false' ? false : text
    case 'array':
      return schema.items?.type !== 'string' || /^\s*[[-]/.test(text)
        ? parseYaml(text)
        : text.split(',').flatMap((item) => item.trim() || [])
    case 'object':
      return parseYaml(text)
    default:
      return text
  }
}

function parseYaml(text: string): unknown {
  try {
    return parse(text, { maxAliasCount: 0 })
  } catch {
    return text
  }
}

/**
 * Kubernetes describes a service named `edge` to every pod as `EDGE_SERVICE_HOST`, `EDGE_PORT_55000_TCP` and others,
 * and a service named `edge-operations` as `EDGE_OPERATIONS_PORT=tcp://…`. These variables are no settings.
 */
function isServiceLink(variable: string, value: string): boolean {
  return (
    /_SERVICE_(?:HOST|PORT)(?:_[A-Z0-9_]+)?$/.test(variable) ||
    /_PORT_\d+_(?:TCP|UDP)(?:_(?:PROTO|PORT|ADDR))?$/.test(variable) ||
    (/_PORT$/.test(variable) && /^(?:tcp|udp):\/\//.test(value))
  )
}
