/** Fields of JSON and form bodies, in the types that the endpoint gives them. */
import type { Endpoint, Field } from '../contracts/endpoint.ts'
import { kinds, type ValueKind } from '../contracts/schemas/kinds.ts'
import { describedFields } from '../core/endpoint-names.ts'
import type { Values } from './parameters.ts'

/** Returns form fields in the types that the endpoint gives them. Text that does not fit stays text, and validation rejects it. */
export function typedFields(endpoint: Endpoint, values: Values): Record<string, unknown> {
  const fields = describedFields(endpoint)
  const result: Record<string, unknown> = Object.create(null)
  for (const [raw, value] of Object.entries(values)) {
    // Form encoders write lists as `ids[]=001&ids[]=002` or `ids[0]=…`.
    const listed = /^([A-Za-z_]+)\[[0-9]*\]$/.exec(raw)?.[1]
    const name = listed !== undefined && fields[listed]?.type === 'strings' ? listed : raw
    const type = Object.hasOwn(fields, name) ? fields[name]?.type : undefined
    const before = result[name]
    result[name] = Array.isArray(before) ? [...before, ...value.split(',')] : typedValue(type, value)
  }
  return result
}

/**
 * Returns the fields of a JSON body in the types that the endpoint gives them. As in the real API, a number or a Boolean
 * may be a text, an id may be a number, and a list of ids may be a text with commas. Values that do not fit are returned
 * as they are, and validation rejects them.
 */
export function typedJson(endpoint: Endpoint, sent: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const fields = describedFields(endpoint)
  const result: Record<string, unknown> = Object.create(null)
  for (const [name, value] of Object.entries(sent)) {
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined
    result[name] = field === undefined ? value : typedJsonValue(field, value)
  }
  return result
}

function typedJsonValue({ type, kind }: Field, value: unknown): unknown {
  if (type === 'strings') {
    const values: ValueKind | undefined = kind && kinds[kind]
    if (values?.listOf === undefined) return value
    return Array.isArray(value) ? value.map(textOfNumber) : typeof value === 'string' ? value.split(',') : value
  }
  if (type === 'string') return kind === 'numbers' ? textOfNumber(value) : value
  return typeof value === 'string' ? typedValue(type, value) : value
}

function textOfNumber(value: unknown): unknown {
  return typeof value === 'number' ? String(value) : value
}

function typedValue(type: string | undefined, value: string): unknown {
  if (type === 'integer') return /^[0-9]{1,15}$/.test(value) ? Number(value) : value
  if (type === 'boolean') return value === 'true' ? true : value === 'false' ? false : value
  return type === 'strings' ? value.split(',') : value
}
