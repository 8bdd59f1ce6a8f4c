/** The bodies of calls: JSON objects with known fields, or texts of one media type. */
import { badRequest, Refusal, V4Error } from './errors.ts'
import { type Param, parseType } from './parameter-types.ts'
import { faultOf } from './parameters.ts'
import { repr } from './python.ts'

/** A field of a JSON body. */
export interface BodyField extends Param {
  /** Fields of an object; absent: any. */
  readonly fields?: BodyFields
}

export type BodyFields = Readonly<Record<string, BodyField>>

export type CallBody =
  | { readonly type: 'application/json'; readonly fields: BodyFields | undefined }
  | { readonly type: 'application/xml' | 'application/octet-stream' }

export type Fields = Readonly<Record<string, unknown>>

const MEBI = 1_048_576
const MAX_BODY_BYTES = 10 * MEBI

/** Parses `application/json: {name: names (length ..64), rule?: object}`, or another media type. */
export function parseBodyType(text: string): CallBody {
  const [type = '', described = ''] = text.split(/: (.*)/s)
  if (type === 'application/xml' || type === 'application/octet-stream') return { type }
  return { type: 'application/json', fields: described.startsWith('{') ? parseFields(described) : undefined }
}

function parseFields(text: string): BodyFields {
  const fields = splitMembers(text.slice(1, -1)).map((member): [string, BodyField] => {
    const [name = '', type = ''] = member.split(/: (.*)/s)
    const field: BodyField = type.startsWith('{') ? { type: 'object', fields: parseFields(type) } : parseType(type)
    return [name.replace('?', ''), name.endsWith('?') ? field : { ...field, required: true }]
  })
  return Object.fromEntries(fields)
}

/** Splits at commas outside of brackets. */
function splitMembers(text: string): string[] {
  const members: string[] = []
  let depth = 0
  let from = 0
  for (let at = 0; at <= text.length; at++) {
    const letter = text[at]
    if (letter === '{' || letter === '(') depth += 1
    if (letter === '}' || letter === ')') depth -= 1
    if (letter !== undefined && !(letter === ',' && depth === 0)) continue
    members.push(text.slice(from, at).trim())
    from = at + 1
  }
  return members
}

export function checkSize(bytes: number): void {
  if (bytes <= MAX_BODY_BYTES) return
  const detail = `Maximum request body size ${MAX_BODY_BYTES} exceeded, actual body size ${bytes}`
  throw new Refusal(413, 'Request Entity Too Large', detail)
}

/** What the later framework checks before the parameters. It takes the expected type for a body that declares none. */
export function checkType(expected: string, type: string | undefined): void {
  if (type === undefined || type === expected) return
  throw new Refusal(415, 'Unsupported Media Type', `Invalid Content-type (${type}), expected ['${expected}']`)
}

/** Returns the fields of a JSON body. The API checks their types before the parameters of the request. */
export function checkJson(expected: BodyFields | undefined, text: string): Fields {
  const value = text === '' ? null : (parsed(text) ?? text)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw badRequest(`${repr(value)} is not of type 'object'`)
  }
  if (expected !== undefined) checkFields(expected, value as Fields)
  return value as Fields
}

/** Throws 6002 for another media type, and a refusal for unknown fields. The API checks this after the parameters. */
export function checkMembers(expected: BodyFields | undefined, type: string, fields: Fields): void {
  if (type !== 'application/json') throw new V4Error(6002)
  if (expected === undefined) return
  const unknown = Object.keys(fields).filter((name) => expected[name] === undefined)
  if (unknown.length > 0) throw badRequest(`Invalid field found {${unknown.map(repr).join(', ')}}`)
  for (const [name, { fields: inner }] of Object.entries(expected)) {
    const value = fields[name]
    if (inner !== undefined && isObject(value)) checkMembers(inner, type, value)
  }
}

/** Returns the text of an upload. Throws 6002 for another media type, and 1912 for an empty file. */
export function checkUpload(expected: string, type: string, text: string): string {
  if (type !== expected) throw new V4Error(6002)
  if (text === '' && expected === 'application/octet-stream') throw new V4Error(1912)
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
}

function checkField(name: string, field: BodyField, value: unknown): void {
  const type = field.type === 'list' ? 'array' : field.type
  if (!isOfType(value, type)) throw badRequest(`${repr(value)} is not of type '${type}' - '${name}'`)
  if (field.fields !== undefined) checkFields(field.fields, value as Fields)
  const fault = faultOf(field, value)
  if (fault !== undefined) throw badRequest(`${repr(value)} ${fault[0]} - '${name}'`)
}

function isOfType(value: unknown, type: string): boolean {
  if (type === 'integer') return Number.isInteger(value)
  if (type === 'array') return Array.isArray(value)
  return type === 'object' ? isObject(value) : typeof value === type
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
