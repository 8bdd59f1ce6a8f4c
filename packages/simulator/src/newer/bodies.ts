/** The bodies of calls: JSON objects with known fields, or texts of one media type. */
import { badRequest, NewerError, Refusal } from './errors.ts'
import { formats, repr } from './parameters.ts'

/** A field of a JSON body. */
interface BodyField {
  readonly type: 'string' | 'boolean' | 'object' | 'array' | 'integer' | 'any'
  readonly format?: keyof typeof formats
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly required?: true
  /** Fields of an object; absent: any. */
  readonly fields?: Readonly<Record<string, BodyField>>
}

export type BodyFields = Readonly<Record<string, BodyField>>

export type CallBody =
  | { readonly type: 'application/json'; readonly fields: BodyFields }
  | { readonly type: 'application/xml' | 'application/octet-stream' }

export type Fields = Readonly<Record<string, unknown>>

const MEBI = 1_048_576
const MAX_BODY_BYTES = 10 * MEBI

export function checkSize(bytes: number): void {
  if (bytes <= MAX_BODY_BYTES) return
  const detail = `Maximum request body size ${MAX_BODY_BYTES} exceeded, actual body size ${bytes}`
  throw new Refusal(413, 'Request Entity Too Large', detail)
}

/** Returns the fields of a JSON body. Throws a refusal, 6002 for another media type, or TypeError where the API crashes. */
export function checkJson(expected: BodyFields, type: string | undefined, text: string): Fields {
  const value = text === '' ? null : (parsed(text) ?? text)
  if (type !== 'application/json' && !(value === null || typeof value === 'string')) throw new NewerError(6002)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw badRequest(`${repr(value)} is not of type 'object'`)
  }
  checkFields(expected, value as Fields)
  return value as Fields
}

/** Returns the text of an upload. Throws 6002 for another media type. */
export function checkUpload(expected: string, type: string | undefined, text: string): string {
  if (type !== expected) throw new NewerError(6002)
  return text
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function checkFields(expected: BodyFields, sent: Fields): void {
  for (const [name, field] of Object.entries(expected)) {
    if (field.required && sent[name] === undefined) throw badRequest(`${repr(name)} is a required property`)
  }
  for (const [name, field] of Object.entries(expected)) {
    const value = sent[name]
    if (value !== undefined) checkField(name, field, value)
  }
  const unknown = Object.keys(sent).filter((name) => expected[name] === undefined)
  if (unknown.length > 0) throw badRequest(`Invalid field found {${unknown.map(repr).join(', ')}}`)
}

function checkField(name: string, field: BodyField, value: unknown): void {
  if (!isOfType(value, field.type)) throw badRequest(`${repr(value)} is not of type '${field.type}' - '${name}'`)
  if (typeof value === 'number' && field.minimum !== undefined && value < field.minimum) {
    throw badRequest(`${value} is less than the minimum of ${field.minimum} - '${name}'`)
  }
  if (field.fields !== undefined && typeof value === 'object' && value !== null) {
    checkFields(field.fields, value as Fields)
  }
  if (typeof value !== 'string') return
  if (field.format !== undefined && !formats[field.format].test(value)) {
    throw badRequest(`${repr(value)} is not a '${field.format}' - '${name}'`)
  }
  if (value.length < (field.minLength ?? 0)) throw badRequest(`${repr(value)} is too short - '${name}'`)
  if (value.length > (field.maxLength ?? value.length)) throw badRequest(`${repr(value)} is too long - '${name}'`)
}

function isOfType(value: unknown, type: BodyField['type']): boolean {
  if (type === 'any') return true
  if (type === 'integer') return Number.isInteger(value)
  if (type === 'array') return Array.isArray(value)
  if (type === 'object') return typeof value === 'object' && value !== null && !Array.isArray(value)
  return typeof value === type
}
