/** Parses JSON of clients more strictly than RFC 8259, since other parsers behind the edge read the same text. */
import { isUtf8 } from 'node:buffer'
import { EdgeError } from '../core/errors.ts'
import { isObject } from '../core/values.ts'

const MAX_JSON_DEPTH = 32
const TOKEN = /[\s,:]*(?:([{}[\]])|"((?:[^"\\]|\\.)*)"|[^\s,:{}[\]"]+)/y
const COLON = /\s*:/y

/** Parses a JSON body as `parseStrictValue` does. An empty body is an empty object. Throws 614 if it is no object. */
export function parseStrictObject(bytes: Buffer): Record<string, unknown> {
  if (bytes.length === 0) return {}
  const value = parseStrictValue(bytes)
  if (!isObject(value)) throw invalidJson('is not an object')
  return value
}

/**
 * Parses JSON more strictly than RFC 8259: valid UTF-8, no duplicate names (parsers disagree on which one is used), no names
 * that reach into prototypes or into the deserialiser of the manager (`__class__` and others: CVE-2025-24016), at most 32
 * levels. Anything else throws 614.
 */
export function parseStrictValue(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw invalidJson('is not UTF-8')
  const text = bytes.toString('utf8').replace(/^\uFEFF/, '')
  // Checked before parsing: 100,000 levels cost the parser more than this scan.
  scanJson(text)
  return parseJson(text)
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new EdgeError(614, '', { cause })
  }
}

/** Scans the tokens for depth and names only; the parser decides whether the text is JSON. */
function scanJson(text: string): void {
  const names: (Set<string> | null)[] = []
  TOKEN.lastIndex = 0
  for (let token = TOKEN.exec(text); token !== null && token[0] !== ''; token = TOKEN.exec(text)) {
    const [, bracket, string] = token
    if (bracket === '{' || bracket === '[') {
      const depth = names.push(bracket === '{' ? new Set() : null)
      if (depth > MAX_JSON_DEPTH) throw invalidJson(`is deeper than ${MAX_JSON_DEPTH} levels`)
    } else if (bracket !== undefined) {
      names.pop()
    } else if (string !== undefined) {
      checkString(string, names.at(-1) ?? null, text, TOKEN.lastIndex)
    }
  }
}

function checkString(raw: string, names: Set<string> | null, text: string, end: number): void {
  const value = raw.includes('\\') ? String(parseJson(`"${raw}"`)) : raw
  if (/[\uD800-\uDFFF]/u.test(value)) throw invalidJson('holds half of a surrogate pair')
  COLON.lastIndex = end
  if (names === null || !COLON.test(text)) return
  if (value.startsWith('__') || value === 'constructor' || value === 'prototype')
    throw invalidJson('holds a forbidden name')
  if (names.has(value)) throw invalidJson('holds a name twice')
  names.add(value)
}

function invalidJson(reason: string): EdgeError {
  return new EdgeError(614, ` The body ${reason}.`)
}
