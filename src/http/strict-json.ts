/**
 * Parses JSON bodies in turns of the event loop, and more strictly than RFC 8259, since other parsers behind the edge read
 * the same text.
 */
import { isUtf8 } from 'node:buffer'
import { EdgeError } from '../core/errors.ts'
import { type CooperativeTask, hasTime, isTurnOver, PAUSE, runTask } from '../core/turns.ts'
import { isObject } from '../core/values.ts'
import { slicesOf } from './body-contents.ts'

const MAX_DEPTH = 32
/** Lists of more would be copied for longer than a turn while they grow. */
const MAX_VALUES = 100_000
/** Of one object, for the same reason. */
const MAX_MEMBERS = 10_000
/** Python, which the API of the manager runs on, refuses numbers of more than 4,300 digits. */
const MAX_DIGITS = 4300
const MAX_GAP = 1024 * 1024
/** At most `MAX_GAP` characters. */
const SPACE = /[\t\n\r ]{0,1048576}/y
const SCALAR = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null/y
/** Part of a string, never of an escape. Longer ones could exceed the stack of the regular expression. */
const PART = /(?:[^"\\\p{Cc}]|[\u007f-\u009f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})){1,4096}/uy

/** Parses a JSON body as `parseStrictValue` does. An empty body is an empty object. Rejects with 614 if it is no object. */
export async function parseStrictObject(bytes: Buffer): Promise<Record<string, unknown>> {
  if (bytes.length === 0) return {}
  const value = await parseStrictValue(bytes)
  if (!isObject(value)) throw invalidJson('is not an object')
  return value
}

/**
 * Parses JSON: valid UTF-8, no duplicate names (parsers disagree on which one is used), no names that reach into prototypes
 * or into the deserialiser of the manager (`__class__` and others: CVE-2025-24016), no half surrogate pairs, at most 32
 * levels and a bounded number of values. Rejects anything else with 614; its cause is a SyntaxError if the text is no JSON.
 */
export async function parseStrictValue(bytes: Buffer): Promise<unknown> {
  if (!isUtf8(bytes)) throw invalidJson('is not UTF-8')
  const slices: string[] = []
  for await (const [slice] of slicesOf(bytes)) slices.push(slice)
  return runTask(parse(slices.join('')))
}

/** The text, the place up to which it has been read, and the number of values that were found. */
interface Reader {
  readonly text: string
  at: number
  values: number
}

function* parse(text: string): CooperativeTask<unknown> {
  const reader = { text, at: text.startsWith('\uFEFF') ? 1 : 0, values: 0 }
  const value = yield* readValue(reader, 0)
  if (nextOf(reader) !== undefined) throw syntaxError(reader)
  return value
}

function* readValue(reader: Reader, depth: number): CooperativeTask<unknown> {
  if (isTurnOver()) yield PAUSE
  reader.values += 1
  if (reader.values > MAX_VALUES) throw invalidJson(`holds more than ${MAX_VALUES} values`)
  const first = nextOf(reader)
  if (first === '"') return yield* readString(reader)
  if (first !== '{' && first !== '[') return readScalar(reader)
  if (depth === MAX_DEPTH) throw invalidJson(`is deeper than ${MAX_DEPTH} levels`)
  reader.at += 1
  return yield* first === '[' ? readList(reader, depth + 1) : readMembers(reader, depth + 1)
}

function readScalar(reader: Reader): unknown {
  const text = match(reader, SCALAR)
  if (text.length > MAX_DIGITS) throw invalidJson(`holds a number of more than ${MAX_DIGITS} digits`)
  return JSON.parse(text)
}

function* readList(reader: Reader, depth: number): CooperativeTask<unknown[]> {
  const list: unknown[] = []
  if (takes(reader, ']')) return list
  for (;;) {
    list.push(yield* readValue(reader, depth))
    if (takes(reader, ']')) return list
    take(reader, ',')
  }
}

function* readMembers(reader: Reader, depth: number): CooperativeTask<Record<string, unknown>> {
  const members: Record<string, unknown> = {}
  if (takes(reader, '}')) return members
  for (let count = 1; ; count += 1) {
    if (count > MAX_MEMBERS) throw invalidJson(`holds an object with more than ${MAX_MEMBERS} members`)
    if (nextOf(reader) !== '"') throw syntaxError(reader)
    const name = yield* readString(reader)
    if (name.startsWith('__') || name === 'constructor' || name === 'prototype')
      throw invalidJson('holds a forbidden name')
    if (Object.hasOwn(members, name)) throw invalidJson('holds a name twice')
    take(reader, ':')
    members[name] = yield* readValue(reader, depth)
    if (takes(reader, '}')) return members
    take(reader, ',')
  }
}

/** `reader`: at the opening quote. */
function* readString(reader: Reader): CooperativeTask<string> {
  reader.at += 1
  let value = ''
  let isEscaped = false
  while (reader.text[reader.at] !== '"') {
    if (value !== '' && !hasTime()) yield PAUSE
    const part = match(reader, PART)
    if (part.includes('\\')) {
      isEscaped = true
      value += JSON.parse(`"${part}"`)
    } else value += part
  }
  reader.at += 1
  // Only an escape can be half of a pair: the bytes are UTF-8.
  if (isEscaped && /\p{Cs}/u.test(value)) throw invalidJson('holds half of a surrogate pair')
  return value
}

/** Returns the next character that is not white space; `undefined`: there is none. */
function nextOf(reader: Reader): string | undefined {
  const { text, at } = reader
  if (text.charCodeAt(at) > 0x20) return text[at]
  SPACE.lastIndex = at
  SPACE.test(text)
  reader.at = SPACE.lastIndex
  if (reader.at - at === MAX_GAP) throw invalidJson(`holds white space of ${MAX_GAP} characters`)
  return text[reader.at]
}

function takes(reader: Reader, character: string): boolean {
  if (nextOf(reader) !== character) return false
  reader.at += 1
  return true
}

function take(reader: Reader, character: string): void {
  if (!takes(reader, character)) throw syntaxError(reader)
}

function match(reader: Reader, pattern: RegExp): string {
  pattern.lastIndex = reader.at
  const [found] = pattern.exec(reader.text) ?? []
  if (found === undefined) throw syntaxError(reader)
  reader.at += found.length
  return found
}

function syntaxError({ at }: Reader): EdgeError {
  return new EdgeError(614, '', { cause: new SyntaxError(`no JSON at character ${at}`) })
}

function invalidJson(reason: string): EdgeError {
  return new EdgeError(614, ` The body ${reason}.`)
}
