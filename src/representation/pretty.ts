import { LRUCache } from 'lru-cache'
import { BACKSLASH, COLON, COMMA, IS_SPACE, QUOTE, skipSpace } from '../core/json-scan.ts'
import { concatOwn } from '../core/long-values.ts'
import { type CooperativeTask, hasTime, PAUSE, runAtOnce, runTask } from '../core/turns.ts'

const INDENT_SPACES = 3

/**
 * Deeper levels are indented like this one. Without the limit, the result for a text of brackets alone would grow with
 * the square of its length. Responses of the manager have less than ten levels.
 */
const MAX_INDENTED_DEPTH = 100

/**
 * Indents JSON text by three spaces and ends it with a line feed, as the manager does for `pretty`. Values are copied
 * byte by byte and not parsed, so numbers, escapes and the order of names do not change. The text must be well-formed;
 * malformed text causes no error, only a wrong indentation. Without pauses: for short texts.
 */
export function pretty(json: string | Buffer): Buffer {
  const input = typeof json === 'string' ? Buffer.from(json) : json
  return Buffer.concat(runAtOnce(indent(input)) ?? [input])
}

/** Bytes of text between two looks at the clock, and of the result: a comma on a deep level becomes 300. */
const PIECE_BYTES = 32 * 1024
const MAX_INDENTED_PIECE_BYTES = 256 * 1024

/** The same for a body, in chunks; `undefined`: the result would have more than `maxBytes`. */
function* indent(input: Buffer, maxBytes = Number.POSITIVE_INFINITY): CooperativeTask<readonly Buffer[] | undefined> {
  const chunks: Buffer[] = []
  let bytes = 0
  // Latin-1 has one character for each byte.
  let text = ''
  let depth = 0
  let at = 0
  let isInText = false
  let pieceEnd = PIECE_BYTES
  while (at < input.length) {
    if (at >= pieceEnd || text.length >= MAX_INDENTED_PIECE_BYTES) {
      bytes += text.length
      if (bytes > maxBytes) return undefined
      chunks.push(Buffer.from(text, 'latin1'))
      text = ''
      if (!hasTime()) yield PAUSE
      pieceEnd = at + PIECE_BYTES
    }
    const byte = input[at] ?? 0
    if (isInText || byte === QUOTE) {
      const end = endOfString(input, isInText ? at : at + 1, pieceEnd)
      text += input.toString('latin1', at, Math.abs(end))
      isInText = end < 0
      at = Math.abs(end)
      continue
    }
    at++
    if (IS_SPACE[byte] === 1) continue
    const character = String.fromCharCode(byte)
    if (isOpening(byte)) {
      const next = skipSpace(input, at)
      const isEmpty = isClosing(input[next] ?? 0)
      text += character + (isEmpty ? input.toString('latin1', next, next + 1) : lineAt(++depth))
      if (isEmpty) at = next + 1
    } else if (isClosing(byte)) text += lineAt(--depth) + character
    else text += character + (byte === COMMA ? lineAt(depth) : byte === COLON ? ' ' : '')
  }
  chunks.push(Buffer.from(`${text}\n`, 'latin1'))
  return bytes + text.length < maxBytes ? chunks : undefined
}

/** The line feed and the spaces in front of each level. */
const LINES = Array.from({ length: MAX_INDENTED_DEPTH + 1 }, (_, depth) => `\n${' '.repeat(INDENT_SPACES * depth)}`)

function lineAt(depth: number): string {
  return LINES[Math.min(Math.max(depth, 0), MAX_INDENTED_DEPTH)] ?? ''
}

/** Texts whose indented form is longer are sent as they are. Indenting 4 MB of brackets would give 1.2 GB. */
const MAX_INDENTED_BYTES = 16 * 1024 * 1024
/** Estimated bytes of the objects of one entry. */
const OVERHEAD_BYTES = 512
/** Bytes of the indented forms that are remembered. At least one always fits. */
const MAX_REMEMBERED_BYTES = 2 * MAX_INDENTED_BYTES

/** Indented forms by the entity tag of the body. A form that would be too long is the body, so that it is not tried again. */
const indentedByTag = new LRUCache<string, Buffer>({
  maxSize: MAX_REMEMBERED_BYTES,
  sizeCalculation: (indented) => indented.length + OVERHEAD_BYTES,
})

const beingIndented = new Map<string, Promise<Buffer>>()

/**
 * Returns the indented form of a stored body, which is made once and remembered: indenting costs many times as much as the
 * rest of a hit. Returns the body itself if the form would be too long. `etag`: the strong entity tag of the body.
 */
export function indentOnce(etag: string, body: Buffer): Buffer | Promise<Buffer> {
  if (body.length >= MAX_INDENTED_BYTES) return body
  const known = indentedByTag.get(etag) ?? beingIndented.get(etag)
  if (known !== undefined) return known
  const remember = (indented: Buffer): Buffer => {
    indentedByTag.set(etag, indented)
    beingIndented.delete(etag)
    return indented
  }
  const form = indentWithin(body)
  if (!(form instanceof Promise)) return remember(form)
  const indented = form.then(remember)
  beingIndented.set(etag, indented)
  return indented
}

/** Returns the indented form, or the body itself if the form would be too long. */
export function indentWithin(body: Buffer): Buffer | Promise<Buffer> {
  const chunks = runTask(indent(body, MAX_INDENTED_BYTES))
  const whole = (found: readonly Buffer[] | undefined) => (found === undefined ? body : concatOwn(found))
  return chunks instanceof Promise ? chunks.then(whole) : whole(chunks)
}

/**
 * Returns the position after the closing quote of the string that contains `at`; negative: that of a part of it, at or after
 * `pieceEnd`. Bytes of UTF-8 sequences are never quotes.
 */
function endOfString(input: Buffer, at: number, pieceEnd: number): number {
  let end = at
  while (end < input.length && input[end] !== QUOTE) {
    end += input[end] === BACKSLASH ? 2 : 1
    if (end >= pieceEnd) return -Math.min(end, input.length)
  }
  return Math.min(end + 1, input.length)
}

/** `[` and `{`, `]` and `}` differ in one bit. */
function isOpening(byte: number): boolean {
  return (byte & 0xdf) === 0x5b
}

function isClosing(byte: number): boolean {
  return (byte & 0xdf) === 0x5d
}
