/** From what is written to what the edge reads: durations, sizes and paths, by the formats of the schema. */
import { formats } from './formats.ts'
import { isObject, type Path, type SchemaNode, tableValues } from './tree.ts'

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
