/**
 * Checks the contents of bodies: JSON more strictly than RFC 8259, since other parsers behind the edge read the same text, and
 * uploaded files before a node receives them. XML is parsed as the manager parses it (several top-level elements, a bare
 * `&`), but without DOCTYPE, entity declarations and processing instructions. The work on files is done in slices, so that a
 * large file does not block the event loop.
 */
import { isUtf8 } from 'node:buffer'
import type { SaxesParser } from 'saxes'
import { EdgeError } from '../core/errors.ts'
import { waitForTurn } from '../core/turns.ts'
import { isObject } from '../core/values.ts'
import { printable } from './edge-request.ts'

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

const SLICE_LENGTH = 64 * 1024
const MAX_DEPTH = 64
const MAX_ATTRIBUTE_LENGTH = 64 * 1024
const MAX_ATTRIBUTES = 1000
/** Parsing a slice takes about as many milliseconds. */
const SLICE_MS = 2
/** Lines, or comments, between two looks at the clock. */
const ITEMS_PER_PART = 10_000
/** Removed before parsing: the manager accepts a declaration, the parser does not accept one in a fragment. */
const DECLARATION = /^\s*<\?xml\s[^>]{0,200}?\?>/

/** Replaced before parsing: the manager accepts a bare `&` (contract), the parser does not. */
const BARE_AMPERSAND = /&(?!(?:amp|lt|gt|quot|apos|#[0-9]{1,7}|#x[0-9A-Fa-f]{1,6});)/g
const MAX_ENTITY_LENGTH = 11

/** Throws 703 with the reason of the parser if the file is not well-formed. */
export async function checkXml(bytes: Buffer): Promise<void> {
  const text = await replaceDashesInComments(decodeXml(bytes))
  const { SaxesParser } = await import('saxes')
  const parser = new SaxesParser({ fragment: true, position: true })
  const elementCount = rejectUnaccepted(parser)
  for (let from = 0, to = 0; from < text.length; from = to) {
    await waitForTurn(SLICE_MS)
    to = endOfSlice(text, from)
    parser.write(text.slice(from, to).replaceAll(BARE_AMPERSAND, '+'))
  }
  parser.close()
  if (elementCount() === 0) throw invalid('Start tag expected')
}

/** Returns the end of the slice. It is never inside an entity. */
function endOfSlice(text: string, from: number): number {
  const to = from + SLICE_LENGTH
  const ampersand = text.slice(to - MAX_ENTITY_LENGTH, to).lastIndexOf('&')
  return ampersand < 0 ? to : to - MAX_ENTITY_LENGTH + ampersand
}

/** Makes the parser throw for everything that is not accepted. Returns a function that gives the number of elements so far. */
function rejectUnaccepted(parser: SaxesParser): () => number {
  let depth = 0
  let elements = 0
  let attributes = 0
  parser.on('error', (error) => {
    throw invalid(error.message.replace(/\.$/, ''))
  })
  parser.on('doctype', () => {
    throw invalid('A DOCTYPE is not accepted')
  })
  parser.on('processinginstruction', () => {
    throw invalid('A processing instruction is not accepted')
  })
  parser.on('text', (between) => {
    if (elements === 0 && between.trim() !== '') throw invalid('Start tag expected')
  })
  parser.on('attribute', ({ value }) => {
    attributes += 1
    if (attributes > MAX_ATTRIBUTES) throw invalid(`More than ${MAX_ATTRIBUTES} attributes`)
    if (value.length > MAX_ATTRIBUTE_LENGTH) throw invalid('An attribute is too long')
  })
  parser.on('opentag', () => {
    elements += 1
    depth += 1
    attributes = 0
    if (depth > MAX_DEPTH) throw invalid(`More than ${MAX_DEPTH} levels`)
  })
  parser.on('closetag', () => {
    depth -= 1
  })
  return () => elements
}

function decodeXml(bytes: Buffer): string {
  // UTF-16 and UTF-32 contain zero bytes. UTF-7 and other encodings must be declared.
  if (!isUtf8(bytes) || bytes.includes(0)) throw invalid('The text is not UTF-8')
  const text = bytes.toString('utf8').replace(/^\uFEFF/, '')
  if (/<!(?:DOCTYPE|ENTITY)/i.test(text)) throw invalid('A DOCTYPE is not accepted')
  const declaration = DECLARATION.exec(text)?.[0] ?? ''
  const encoding = /encoding\s*=\s*["']([^"']*)["']/.exec(declaration)?.[1]
  if (encoding !== undefined && !/^utf-?8$/i.test(encoding)) throw invalid('The text is not UTF-8')
  return text.slice(declaration.length)
}

/**
 * Replaces `--` inside comments: the manager accepts it, the parser does not. A comment inside CDATA, and CDATA inside a
 * comment, are text. Each character is scanned once.
 */
async function replaceDashesInComments(text: string): Promise<string> {
  const opening = /<!--|<!\[CDATA\[/g
  const parts: string[] = []
  let done = 0
  for (let found = opening.exec(text), count = 1; found !== null; found = opening.exec(text), count++) {
    if (count % ITEMS_PER_PART === 0) await waitForTurn()
    const isComment = found[0] === '<!--'
    const end = text.indexOf(isComment ? '-->' : ']]>', opening.lastIndex)
    if (end < 0) break
    if (isComment) {
      parts.push(text.slice(done, opening.lastIndex), text.slice(opening.lastIndex, end).replaceAll('-', '.'))
      done = end
    }
    opening.lastIndex = end + 3
  }
  return parts.join('') + text.slice(done)
}

function invalid(reason: string): EdgeError {
  return new EdgeError(703, `. ${printable(reason)}.`)
}

/** Throws 705, naming the line, if a line of a CDB list is not `key:value`. */
export async function checkList(bytes: Buffer): Promise<void> {
  if (!isUtf8(bytes)) throw new EdgeError(705, '. The text is not UTF-8')
  const text = bytes.toString('utf8')
  for (let from = 0, number = 1; from < text.length; number++) {
    if (number % ITEMS_PER_PART === 0) await waitForTurn()
    const found = text.indexOf('\n', from)
    const end = found < 0 ? text.length : found
    checkLine(text.slice(from, end), number)
    from = end + 1
  }
}

function checkLine(line: string, number: number): void {
  if (line.trim() === '') return
  const colon = line.indexOf(':')
  if (colon <= 0 || line.includes(':', colon + 1) || line.slice(0, colon).trim() === '') {
    throw new EdgeError(705, `. Line ${number}: ${printable(line)}`)
  }
}
