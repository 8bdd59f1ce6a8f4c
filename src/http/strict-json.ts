/**
 * JSON bodies, read as strictly as RFC 8259 advises and a little more: valid UTF-8, one object, no duplicate
 * names (parsers disagree on which one wins), no names that reach into prototypes or into the manager's own
 * deserialiser (`__class__` and the like: CVE-2025-24016), at most 32 levels.
 */
import { isUtf8 } from 'node:buffer'
import { EdgeError } from '../core/errors.ts'

const MAX_DEPTH = 32
const TOKEN = /[\s,:]*(?:([{}[\]])|"((?:[^"\\]|\\.)*)"|[^\s,:{}[\]"]+)/y
const COLON = /\s*:/y

/** The object that the bytes hold; an empty body is an empty object. Anything else is refused with 614. */
export function parseStrictJson(bytes: Buffer): Record<string, unknown> {
  if (bytes.length === 0) return {}
  if (!isUtf8(bytes)) throw refuse('is not UTF-8')
  const text = bytes.toString('utf8').replace(/^\uFEFF/, '')
  // Looked at before it is parsed: a hundred thousand levels cost the parser more than they cost the walk.
  walk(text)
  const value = parse(text)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw refuse('is not an object')
  return value as Record<string, unknown>
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new EdgeError(614, '', { cause })
  }
}

/** Walks the tokens only as far as to see depth and names; whether it is JSON at all is the parser's to say. */
function walk(text: string): void {
  const names: (Set<string> | null)[] = []
  TOKEN.lastIndex = 0
  for (let token = TOKEN.exec(text); token !== null && token[0] !== ''; token = TOKEN.exec(text)) {
    const [, bracket, string] = token
    if (bracket === '{' || bracket === '[') {
      if (names.push(bracket === '{' ? new Set() : null) > MAX_DEPTH) throw refuse(`is deeper than ${MAX_DEPTH} levels`)
    } else if (bracket !== undefined) {
      names.pop()
    } else if (string !== undefined) {
      checkString(string, names.at(-1) ?? null, text, TOKEN.lastIndex)
    }
  }
}

function checkString(raw: string, names: Set<string> | null, text: string, end: number): void {
  const value = raw.includes('\\') ? unescaped(raw) : raw
  if (/[\uD800-\uDFFF]/u.test(value)) throw refuse('holds half of a surrogate pair')
  COLON.lastIndex = end
  if (names === null || !COLON.test(text)) return
  if (value.startsWith('__') || value === 'constructor' || value === 'prototype') throw refuse('holds a forbidden name')
  if (names.has(value)) throw refuse('holds a name twice')
  names.add(value)
}

function unescaped(raw: string): string {
  return String(parse(`"${raw}"`))
}

function refuse(why: string): EdgeError {
  return new EdgeError(614, ` The body ${why}.`)
}
