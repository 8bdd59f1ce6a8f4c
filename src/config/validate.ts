/** Validates settings against the schema and parses their values. */
import type { ErrorObject } from 'ajv'
import { isObject } from '../core/values.ts'
import { settingsChecker } from './checker.ts'
import { type FaultList, formatSuggestion } from './faults.ts'
import { describeFormat, formats } from './formats.ts'
import { describeGone } from './gone-settings.ts'
import { schema } from './schema.ts'
import { formatPath, getIn, type Path, type SchemaNode, schemaAt, tableValueSchema } from './tree.ts'

interface Violation {
  readonly path: Path
  readonly message: string
  /** Whether the key is wrong or its value. */
  readonly target: 'key' | 'value'
}

/** Fills the defaults into `tree` (in place) and returns all violations. */
export function validate(tree: Record<string, unknown>): Violation[] {
  const check = settingsChecker()
  if (check(tree)) return []
  return (check.errors ?? []).map((error) => toViolation(tree, error))
}

function toViolation(tree: unknown, error: ErrorObject): Violation {
  const path = parsePointer(error.instancePath, tree)
  if (error.keyword === 'additionalProperties') {
    const unknown = [...path, String(error.params.additionalProperty)]
    const gone = describeGone((name) => name === formatPath(unknown))
    return { path: unknown, message: gone ?? describeUnknown(unknown), target: 'key' }
  }
  if (error.keyword === 'required') {
    return { path: [...path, String(error.params.missingProperty)], message: 'is missing; write it', target: 'value' }
  }
  return { path, message: describeError(error, schemaAt(schema, path), getIn(tree, path)), target: 'value' }
}

function describeUnknown(path: Path): string {
  const known = Object.keys(schemaAt(schema, path.slice(0, -1))?.properties ?? {})
  return known.length > 0
    ? `is not a setting${formatSuggestion(String(path.at(-1)), known)}`
    : 'is not a name that is allowed here'
}

const TYPE_NAMES: Readonly<Record<string, string>> = {
  integer: 'an integer',
  number: 'a number',
  boolean: 'true or false',
  string: 'text',
  array: 'a list',
  object: 'a group of settings',
}

function describeError(error: ErrorObject, schema: SchemaNode | undefined, value: unknown): string {
  const got = schema?.secret ? '' : `, got ${quoteValue(value)}`
  const { params } = error
  switch (error.keyword) {
    case 'type': {
      const expected = schema?.description ?? describeFormat(schema ?? {}) ?? TYPE_NAMES[params.type]
      const isQuoted = params.type !== 'string' && typeof value === 'string' && /^(?:-?\d+|true|false)$/.test(value)
      return `must be ${expected}${got}${isQuoted ? '; write it without quotes' : ''}`
    }
    case 'enum':
      return `must be one of ${params.allowedValues.join(', ')}${got}`
    case 'format':
      return `must be ${describeFormat(schema ?? {})}${got}`
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

/** Returns a value in a form that is safe in a message: quoted, short, without a password in a URL. */
function quoteValue(value: unknown): string {
  const text = redactUserInfo(JSON.stringify(value) ?? String(value))
  return text.length > 60 ? `${text.slice(0, 57)}…` : text
}

/** A password that was written into a URL must not appear in the log. */
export function redactUserInfo(text: string): string {
  const scheme = text.indexOf('://')
  const at = text.lastIndexOf('@')
  return scheme >= 0 && at > scheme ? `${text.slice(0, scheme)}://…${text.slice(at)}` : text
}

/** Parses `/cluster/nodes/0/url` into keys; the index of a list is a number. */
function parsePointer(pointer: string, tree: unknown): Path {
  const path: (string | number)[] = []
  let current = tree
  for (const part of pointer.split('/').slice(1)) {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~')
    path.push(Array.isArray(current) ? Number(key) : key)
    current = Array.isArray(current) ? current[Number(key)] : isObject(current) ? current[key] : undefined
  }
  return path
}

/**
 * Returns a new tree in which durations are milliseconds, sizes are bytes and paths are absolute. `baseOf` returns the
 * folder that a relative path at this place starts from. Invalid values stay as they are.
 */
export function parseValues(
  schema: SchemaNode,
  value: unknown,
  baseOf: (path: Path) => string,
  path: Path = [],
): unknown {
  const { items } = schema
  if (Array.isArray(value) && items) return value.map((item, i) => parseValues(items, item, baseOf, [...path, i]))
  // Values without a schema are those of a plugin.
  if (isObject(value) && (schema.properties ?? schema.patternProperties))
    return parseMembers(schema, value, baseOf, path)
  const format = schema.format === undefined ? undefined : formats[schema.format]
  if (typeof value !== 'string' || !format?.parse || !format.validate(value)) return value
  return format.parse(value, baseOf(path))
}

/** Reports values beyond the bounds of the schema, but not of faulty settings. `value`: parsed. */
export function checkBounds(node: SchemaNode, value: unknown, list: FaultList, path: Path = []): void {
  const { bounds } = node
  if (bounds !== undefined && typeof value === 'number') {
    const { min = value, max = value, message } = bounds
    if ((value < min || value > max) && list.isValid(path)) list.report(path, message)
  }
  const members = Array.isArray(value) ? [...value.entries()] : isObject(value) ? Object.entries(value) : []
  for (const [key, member] of members) checkBounds(schemaAt(node, [key]) ?? {}, member, list, [...path, key])
}

/** Tables have no prototype, so that a user named `constructor` does not inherit roles. */
function parseMembers(
  schema: SchemaNode,
  value: Record<string, unknown>,
  baseOf: (path: Path) => string,
  path: Path,
): Record<string, unknown> {
  const tableValues = tableValueSchema(schema)
  const parsed: Record<string, unknown> = tableValues ? Object.create(null) : {}
  for (const [key, member] of Object.entries(value)) {
    const memberSchema =
      tableValues ?? (schema.properties && Object.hasOwn(schema.properties, key) ? schema.properties[key] : undefined)
    if (memberSchema) parsed[key] = parseValues(memberSchema, member, baseOf, [...path, key])
  }
  return parsed
}
