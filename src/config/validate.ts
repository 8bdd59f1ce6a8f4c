import { Ajv, type ErrorObject } from 'ajv'
import { suggestion } from './faults.ts'
import { formats } from './formats.ts'
import { isObject, type Path, type SchemaNode, schemaAt, tableValues } from './tree.ts'

/** The schema's word on a tree of settings: defaults filled in, every violation as a sentence. */

export interface Violation {
  readonly path: Path
  readonly says: string
  /** The key itself is wrong, not its value. */
  readonly of: 'key' | 'value'
}

/** Fills defaults into `tree` (in place) and tells all violations at once. */
export function validate(schema: SchemaNode, tree: Record<string, unknown>): Violation[] {
  const ajv = new Ajv({ allErrors: true, verbose: true, useDefaults: true, strict: true, keywords: ['secret'] })
  for (const [name, { legal }] of Object.entries(formats)) ajv.addFormat(name, legal)
  const check = ajv.compile(schema)
  if (check(tree)) return []
  return (check.errors ?? []).map((error) => violation(schema, tree, error))
}

function violation(schema: SchemaNode, tree: unknown, error: ErrorObject): Violation {
  const path = pathOf(error.instancePath, tree)
  if (error.keyword === 'additionalProperties') {
    const key = String(error.params.additionalProperty)
    const known = Object.keys(schemaAt(schema, path)?.properties ?? {})
    const says = known.length > 0 ? `is not a setting${suggestion(key, known)}` : 'is not a name that can stand here'
    return { path: [...path, key], says, of: 'key' }
  }
  if (error.keyword === 'required') {
    return { path: [...path, String(error.params.missingProperty)], says: 'is missing; write it', of: 'value' }
  }
  return { path, says: sentence(error, schemaAt(schema, path)), of: 'value' }
}

const TYPES: Readonly<Record<string, string>> = {
  integer: 'an integer',
  number: 'a number',
  boolean: 'true or false',
  string: 'text',
  array: 'a list',
  object: 'a group of settings',
}

function sentence(error: ErrorObject, schema: SchemaNode | undefined): string {
  const got = schema?.secret ? '' : `, got ${shown(error.data)}`
  const { params } = error
  switch (error.keyword) {
    case 'type': {
      const wanted = schema?.description ?? (schema?.format && formats[schema.format]?.says) ?? TYPES[params.type]
      const quoted =
        params.type !== 'string' && typeof error.data === 'string' && /^(?:-?\d+|true|false)$/.test(error.data)
      return `must be ${wanted}${got}${quoted ? '; write it without quotes' : ''}`
    }
    case 'enum':
      return `must be one of ${params.allowedValues.join(', ')}${got}`
    case 'format':
      return `must be ${formats[params.format]?.says ?? params.format}${got}`
    case 'minimum':
      return `must be at least ${params.limit}${got}`
    case 'maximum':
      return `must be at most ${params.limit}${got}`
    case 'minLength':
      return 'must not be empty'
    default:
      return `${schema?.description ? `must be ${schema.description}` : error.message}${got}`
  }
}

/** Foreign bytes in a message are quoted and short. */
function shown(value: unknown): string {
  const text = withoutUser(JSON.stringify(value) ?? String(value))
  return text.length > 60 ? `${text.slice(0, 57)}…` : text
}

/** Who writes a password into an address must not find it in the log of the start. */
function withoutUser(text: string): string {
  const scheme = text.indexOf('://')
  const at = text.lastIndexOf('@')
  return scheme >= 0 && at > scheme ? `${text.slice(0, scheme)}://…${text.slice(at)}` : text
}

/** `/cluster/nodes/0/url` → keys; numbers where the tree holds a list. */
function pathOf(pointer: string, tree: unknown): Path {
  const path: (string | number)[] = []
  let here = tree
  for (const part of pointer.split('/').slice(1)) {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~')
    path.push(Array.isArray(here) ? Number(key) : key)
    here = Array.isArray(here) ? here[Number(key)] : isObject(here) ? here[key] : undefined
  }
  return path
}

/** From what is written to what the edge reads: durations, sizes and paths, by the formats of the schema. */

/**
 * A new tree with every written value read. `base` names the folder that a relative path at this place starts
 * from. Values that the validation has refused stay as they are.
 */
export function interpret(schema: SchemaNode, value: unknown, base: (path: Path) => string, path: Path = []): unknown {
  const { items } = schema
  if (Array.isArray(value) && items) return value.map((item, i) => interpret(items, item, base, [...path, i]))
  if (isObject(value)) return interpretMembers(schema, value, base, path)
  const format = schema.format === undefined ? undefined : formats[schema.format]
  if (typeof value !== 'string' || !format?.read || !format.legal(value)) return value
  return format.read(value, base(path))
}

/** Tables have no prototype: a user named `constructor` holds no roles by accident. */
function interpretMembers(
  schema: SchemaNode,
  value: Record<string, unknown>,
  base: (path: Path) => string,
  path: Path,
): Record<string, unknown> {
  const values = tableValues(schema)
  const read: Record<string, unknown> = values ? Object.create(null) : {}
  for (const [key, member] of Object.entries(value)) {
    const known = values ?? (schema.properties && Object.hasOwn(schema.properties, key) ? schema.properties[key] : null)
    if (known) read[key] = interpret(known, member, base, [...path, key])
  }
  return read
}
