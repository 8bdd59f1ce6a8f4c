/**
 * The response schemas by name: JSON Schema of the dialect 2020-12, which OpenAPI 3.1 uses, from the shorter forms of
 * `src/contracts/items/schemas.json` and `cache.ts` beside it. The forms:
 * - `"integer: Bytes."` is a type with a description, `"string|null"` one of several types, `"any"` every value.
 * - `"#Group"` refers to the schema of that name; `"@scan"` is the part of that name.
 * - `["string", "Ids of agents."]` is a list, with the form of its elements.
 * - `{ "$": "A description.", "id, name?": "string" }` is an object without other fields. A field that ends with `?` may be
 *   missing. `"..."` adds the fields of a schema or a part; with `?`, each of them may be missing.
 * - `{ "*": "string" }` is an object whose names are data, such as names of nodes.
 * - `{ "anyOf": … }` and `{ "enum": … }` are as in JSON Schema.
 */
import { cacheSchemas } from '../../../src/contracts/items/cache.ts'
import written from '../../../src/contracts/items/schemas.json' with { type: 'json' }

export type Schema = Readonly<Record<string, unknown>>
interface Fields {
  readonly [names: string]: Form
}
type Form = string | readonly Form[] | Fields

const parts: Readonly<Record<string, Form>> = written.parts
const forms: Readonly<Record<string, Form>> = { ...written.schemas, ...cacheSchemas }

export const schemas: Readonly<Record<string, Schema>> = Object.fromEntries(
  Object.entries(forms).map(([name, form]) => [name, schemaOf(form)]),
)

export function schemaOf(form: Form): Schema {
  if (typeof form === 'string') return ofText(form)
  if (isList(form)) return { type: 'array', ...described(form[1]), items: schemaOf(form[0] ?? 'any') }
  const { $: description, '*': values, anyOf, ...fields } = form
  if (anyOf !== undefined) return { anyOf: (anyOf as readonly Form[]).map(schemaOf) }
  if (fields.enum !== undefined) return { type: 'string', enum: fields.enum }
  if (values !== undefined) return { type: 'object', ...described(description), additionalProperties: schemaOf(values) }
  const all = fieldsOf(fields)
  const required = all.flatMap(([name]) => (name.endsWith('?') ? [] : [name]))
  return {
    type: 'object',
    ...described(description),
    properties: Object.fromEntries(all.map(([name, schema]) => [name.replace(/\?$/, ''), schema])),
    ...(required.length > 0 && { required }),
    additionalProperties: false,
  }
}

function ofText(form: string): Schema {
  if (form === 'any') return {}
  const name = form.slice(1)
  if (form.startsWith('#')) return { $ref: `#/components/schemas/${name}` }
  if (form.startsWith('@')) return schemaOf(parts[name] ?? 'any')
  const [, types = '', description] = /^([a-z|]+)(?:: (.+))?$/.exec(form) ?? []
  return { type: types.includes('|') ? types.split('|') : types, ...described(description) }
}

/** Returns the fields of an object, with a `?` behind the names of those that may be missing. */
function fieldsOf(fields: Fields): (readonly [name: string, Schema])[] {
  return Object.entries(fields).flatMap(([names, form]) => {
    if (names !== '...') return names.split(', ').map((name) => [name, schemaOf(form)] as const)
    const [added, isOptional] = [String(form).replace(/\?$/, ''), String(form).endsWith('?')]
    const all = fieldsOf((parts[added] ?? forms[added]) as Fields)
    return isOptional ? all.map(([name, schema]) => [`${name.replace(/\?$/, '')}?`, schema] as const) : all
  })
}

function described(description: unknown): { readonly description?: string } {
  return typeof description === 'string' ? { description } : {}
}

function isList(form: Form): form is readonly Form[] {
  return Array.isArray(form)
}
