import type { Body, Field } from '../../catalogue/endpoint.ts'
import { kinds } from '../../catalogue/schemas/kinds.ts'
import { type Json, sentences, textSchema } from './parameters.ts'

/** The request body of a write. */
export function bodyOf(body: Body): Json {
  if (body.kind === 'upload') {
    const schema = { type: 'string', description: 'The file itself' }
    return { required: true, content: contentOf(body.types, schema) }
  }
  const fields = Object.entries(body.fields)
  const required = fields.filter(([, field]) => field.required !== undefined).map(([name]) => name)
  const schema = {
    type: 'object',
    properties: Object.fromEntries(fields.map(([name, field]) => [name, fieldSchema(field)])),
    ...(required.length > 0 && { required }),
    additionalProperties: false,
  }
  return { required: required.length > 0, content: contentOf(body.types, schema) }
}

function contentOf(types: readonly string[], schema: Json): Json {
  return Object.fromEntries(types.map((type) => [type, { schema }]))
}

function fieldSchema(field: Field): Json {
  return {
    ...typeOf(field),
    description: describe(field),
    ...(field.default !== undefined && { default: field.default }),
  }
}

function describe({ role, note, fill }: Field): string {
  return sentences(role, note, fill === 'clientAddress' ? 'absent: the address of the client' : undefined)
}

function typeOf({ type, kind, maxLength, maxItems }: Field): Json {
  if (type === 'integer' || type === 'boolean') return { type }
  const text = {
    ...(kind === undefined ? { type: 'string' } : textSchema(kinds[kind])),
    ...(maxLength !== undefined && { maxLength }),
  }
  return type === 'string' ? text : { type: 'array', items: text, ...(maxItems !== undefined && { maxItems }) }
}
