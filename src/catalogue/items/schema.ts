/**
 * The vocabulary of response schemas: JSON Schema of the dialect 2020-12, which OpenAPI 3.1 uses. An object is closed:
 * it has no other fields than those that are named.
 */
export type Schema = Readonly<Record<string, unknown>>

/** A `?` at the end of a name marks a field that may be missing. */
export type Fields = Readonly<Record<string, Schema>>

export interface ObjectSchema extends Schema {
  readonly type: 'object'
  readonly properties: Fields
  readonly required?: readonly string[]
}

export function object(fields: Fields, description?: string): ObjectSchema {
  const names = Object.keys(fields)
  const required = names.filter((name) => !name.endsWith('?'))
  return {
    type: 'object',
    ...described(description),
    properties: Object.fromEntries(names.map((name) => [name.replace(/\?$/, ''), fields[name] ?? {}])),
    ...(required.length > 0 && { required }),
    additionalProperties: false,
  }
}

/** Returns an object whose names are data, such as names of nodes. */
export function map(values: Schema, description?: string): Schema {
  return { type: 'object', ...described(description), additionalProperties: values }
}

export function list(items: Schema, description?: string): Schema {
  return { type: 'array', ...described(description), items }
}

export function text(description?: string): Schema {
  return { type: 'string', ...described(description) }
}

export function integer(description?: string): Schema {
  return { type: 'integer', ...described(description) }
}

export function number(description?: string): Schema {
  return { type: 'number', ...described(description) }
}

export function boolean(description?: string): Schema {
  return { type: 'boolean', ...described(description) }
}

/** Returns a text that has one of few values. */
export function words(...values: readonly string[]): Schema {
  return { type: 'string', enum: values }
}

/** Returns a value of one of several types, whose contents are not described. */
export function anyOfTypes(description: string, ...types: readonly string[]): Schema {
  return { type: types, description }
}

export function either(...schemas: readonly Schema[]): Schema {
  return { anyOf: schemas }
}

/** Returns the schema of another entry of `index.ts`, by its name. */
export function ref(name: string): Schema {
  return { $ref: `#/components/schemas/${name}` }
}

/** Returns fields of one kind. The names may end with `?`. */
export function fieldsOf(schema: Schema, ...names: readonly string[]): Fields {
  return Object.fromEntries(names.map((name) => [name, schema]))
}

/** Returns the same fields, each of which may be missing. */
export function optional(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).map(([name, schema]) => [`${name.replace(/\?$/, '')}?`, schema]))
}

/** `YYYY-MM-DD hh:mm:ss`. */
export const TIME = 'YYYY-MM-DD hh:mm:ss, UTC'

function described(description: string | undefined): { readonly description?: string } {
  return description === undefined ? {} : { description }
}
