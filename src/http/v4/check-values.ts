/**
 * Checks values as the manager does (connexion 2 with jsonschema): the texts of a URL are converted first, and the first
 * failed keyword is reported, in the words of the manager. The patterns of formats are anchored and match in linear time.
 */
import type { Field, Param } from '../../contracts/endpoint.ts'
import { hasFormat } from '../../contracts/v4/formats.ts'
import type { Bool, List, Numeric, Releases, Text, Value, Values } from '../../contracts/v4/value.ts'
import type { EdgeError } from '../../core/errors.ts'
import { isObject } from '../../core/values.ts'
import { printed, printedNames, printedStart } from './printed.ts'
import { badRequest } from './problem.ts'
import type { ReleaseFacts } from './release-facts.ts'

type ParameterPlace = 'query' | 'path'

/** As Python parses it. */
const INTEGER = /^\s*[+-]?\d+(?:_\d+)*\s*$/
const NUMBER = /^\s*[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?\s*$/

/** Returns whether the nodes have something of these releases. */
export type IsInRelease = (releases?: Releases) => boolean

/** What the release decides about values. */
export interface OfRelease extends Pick<ReleaseFacts, 'printsSchemas'> {
  readonly isInRelease: IsInRelease
}

/** A text of the URL. */
interface Sent {
  readonly name: string
  readonly text: string
  readonly place: ParameterPlace
}

/**
 * Returns the value of a parameter in its canonical text: integers without signs and zeros in front, Booleans in lower
 * case. Throws 400 for an invalid one.
 */
export function checkParam({ value }: Param, sent: Sent, release: OfRelease): string {
  const { text } = sent
  if (value === undefined) return text
  switch (value.type) {
    case 'boolean':
      if (!/^(?:true|false)$/i.test(text)) throw wrongType(value, sent, release)
      return text.toLowerCase()
    case 'integer':
    case 'number':
      return checkNumber(value, text, '', () => wrongType(value, sent, release))
    case 'array':
      return checkList(value, text, release)
    case 'string':
      checkText(ofRelease(value, release), text, '')
      return text
    case 'object':
      return text
  }
}

function wrongType(value: Numeric | Bool, { text, place, name }: Sent, { printsSchemas }: OfRelease): EdgeError {
  const { type } = value
  if (printsSchemas) return failed(text, ['type', `is not of type '${type}'`], value, '')
  return badRequest(`Wrong type, expected '${type}' for ${place} parameter '${name}'`)
}

/** Leaves out words that only other releases have, and takes the format of the release. */
function ofRelease(all: Text, { isInRelease, printsSchemas }: OfRelease): Text {
  const { reference, ...others } = all
  const value = printsSchemas || reference === undefined ? others : all
  const { words, wordReleases, laterFormat } = value
  if (laterFormat !== undefined && isInRelease(laterFormat)) return { ...value, format: laterFormat.format }
  if (words === undefined || wordReleases === undefined) return value
  return { ...value, words: words.filter((word) => isInRelease(wordReleases[word])) }
}

function checkNumber(value: Numeric, text: string, at: string, invalid: () => EdgeError): string {
  const isInteger = value.type === 'integer'
  if (!(isInteger ? INTEGER : NUMBER).test(text)) throw invalid()
  const digits = text.trim().replace(/^\+/, '').replaceAll('_', '')
  const number = Number(digits)
  if (!isInteger && !Number.isFinite(number)) throw invalid()
  // A long integer keeps all its digits, as in the manager.
  const exact = isInteger && !Number.isSafeInteger(number) ? BigInt(digits) : number
  const limit = limitOf(value, number)
  if (limit !== undefined) throw failed(exact, limit, value, at)
  return String(exact)
}

function checkList(list: List, text: string, release: OfRelease): string {
  const parts = text.split(',')
  const { items } = list
  const values = parts.map((part, index) => {
    const at = `[${index}]`
    if (items.type !== 'string') {
      const notNumber = () => failed(part, ['type', `is not of type '${items.type}'`], items, at)
      return checkNumber(items, part, at, notNumber)
    }
    checkText(ofRelease(items, release), part, at)
    return part
  })
  return values.join(',')
}

function checkText(value: Text, text: string, at: string): void {
  const fault = faultOfText(value, text)
  if (fault !== undefined) throw failed(text, fault, value, at)
}

/** The failed keyword, and the words behind the value. */
type Fault = readonly [keyword: string, words: string]

function faultOfText({ words, format, minLength, maxLength }: Text, text: string): Fault | undefined {
  if (words !== undefined && !words.includes(text)) return ['enum', `is not one of ${printed(words)}`]
  if (minLength !== undefined && text.length < minLength) return ['minLength', 'is too short']
  if (maxLength !== undefined && text.length > maxLength) return ['maxLength', 'is too long']
  if (format !== undefined && !hasFormat(format, text)) return ['format', `is not a '${format}'`]
  return undefined
}

function limitOf({ minimum, maximum }: Numeric, number: number): Fault | undefined {
  if (minimum !== undefined && number < minimum) return ['minimum', `is less than the minimum of ${minimum}`]
  if (maximum !== undefined && number > maximum) return ['maximum', `is greater than the maximum of ${maximum}`]
  return undefined
}

/** `at`: the index within a list. */
function failed(instance: unknown, [keyword, words]: Fault, value: Text | Numeric | Bool, at: string): EdgeError {
  const schema = at === '' ? 'schema' : "schema['items']"
  const text = printedStart(instance)
  return badRequest(
    `${text} ${words}. Failed validating '${keyword}' in ${schema}: ${printed(schemaOf(value))}. On instance${at}: ${text}`,
  )
}

/** The schema of the manager's description, which its texts contain. */
function schemaOf(value: Text | Numeric | Bool): object {
  const { type, releases: _, ...others } = value
  if (type === 'boolean') return { type, ...others }
  if (value.type !== 'string') return { type, format: value.type === 'integer' ? 'int32' : 'float', ...others }
  const { words, wordReleases: __, laterFormat: ___, description, reference, ...limits } = others as Omit<Text, 'type'>
  return {
    type,
    ...(words && { enum: words }),
    ...limits,
    ...(description !== undefined && { description }),
    ...(reference !== undefined && { 'x-scope': ['', `#/components/parameters/${reference}`] }),
  }
}

/** Checks the fields of a JSON body. Throws 400 for a missing one, and for one with an invalid value. */
export function checkFields(fields: Readonly<Record<string, Field>>, sent: Readonly<Record<string, unknown>>): void {
  const missing = Object.keys(fields).find((name) => fields[name]?.required !== undefined && sent[name] === undefined)
  if (missing !== undefined) throw badRequest(`'${missing}' is a required property`)
  for (const [name, { value }] of Object.entries(fields)) {
    if (value !== undefined && sent[name] !== undefined) checkMember(value, sent[name], name)
  }
}

/** `path`: the names that lead to the value, joined by dots. */
function checkMember(value: Value, sent: unknown, path: string): void {
  const fault = faultOfMember(value, sent)
  if (fault !== undefined) throw badRequest(`${printedStart(sent)} ${fault[1]} - '${path}'`)
  if (value.type === 'array') for (const item of sent as unknown[]) checkMember(value.items, item, path)
  if (value.type === 'object') checkMembers(value, sent as Readonly<Record<string, unknown>>, path)
}

function checkMembers({ members = {} }: Values, sent: Readonly<Record<string, unknown>>, path: string): void {
  for (const [written, value] of Object.entries(members)) {
    const name = written.replace('?', '')
    if (sent[name] === undefined) {
      if (written === name) throw badRequest(`'${name}' is a required property - '${path}'`)
    } else checkMember(value, sent[name], `${path}.${name}`)
  }
  const unknown = Object.keys(sent).filter((name) => !(name in members) && !(`${name}?` in members))
  if (Object.keys(members).length > 0 && unknown.length > 0) throw invalidFields(unknown)
}

function faultOfMember(value: Value, sent: unknown): Fault | undefined {
  if (!hasType(value, sent)) return ['type', `is not of type '${value.type}'`]
  if (value.type === 'string') return faultOfText(value, sent as string)
  return value.type === 'integer' || value.type === 'number' ? limitOf(value, sent as number) : undefined
}

function hasType({ type }: Value, sent: unknown): boolean {
  switch (type) {
    case 'array':
      return Array.isArray(sent)
    case 'object':
      return isObject(sent)
    case 'integer':
      return Number.isInteger(sent)
    default:
      return typeof sent === type
  }
}

/** Returns the error for members that the body must not have. */
export function invalidFields(names: readonly string[]): EdgeError {
  return badRequest(`Invalid field found {${printedNames(names)}}`)
}
