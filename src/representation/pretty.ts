import { LRUCache } from 'lru-cache'

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
const SPACE = 0x20
const LINE_FEED = 0x0a
const INDENT_SPACES = 3

/**
 * Deeper levels are indented like this one. Without the limit, the result for a text of brackets alone would grow with
 * the square of its length. Responses of the manager have less than ten levels.
 */
const MAX_INDENTED_DEPTH = 100

/**
 * Indents JSON text by three spaces and ends it with a line feed, as the manager does for `pretty`. Values are copied
 * byte by byte and not parsed, so numbers, escapes and the order of names do not change. The text must be well-formed;
 * malformed text causes no error, only a wrong indentation.
 */
export function pretty(json: string | Buffer): Buffer {
  const input = typeof json === 'string' ? Buffer.from(json) : json
  return indent(input) ?? input
}

/** The same for a body; `undefined`: the result would have more than `maxBytes`. */
function indent(input: Buffer, maxBytes = Number.POSITIVE_INFINITY): Buffer | undefined {
  const out = new GrowingBuffer(input.length * 2 + 16)
  let depth = 0
  let at = 0
  while (at < input.length) {
    const byte = input[at] ?? 0
    if (byte === QUOTE) {
      const end = endOfString(input, at)
      out.copy(input, at, end)
      at = end
      continue
    }
    at++
    if (out.length > maxBytes) return undefined
    if (isSpace(byte)) continue
    if (isOpening(byte)) {
      const next = skipSpace(input, at)
      out.byte(byte)
      if (isClosing(input[next] ?? 0)) {
        out.byte(input[next] ?? 0)
        at = next + 1
      } else out.line(++depth)
    } else if (isClosing(byte)) {
      out.line(--depth)
      out.byte(byte)
    } else {
      out.byte(byte)
      if (byte === COMMA) out.line(depth)
      else if (byte === COLON) out.byte(SPACE)
    }
  }
  out.byte(LINE_FEED)
  return out.length > maxBytes ? undefined : out.content()
}

/** Texts whose indented form is longer are sent as they are. Indenting 4 MB of brackets would give 1.2 GB. */
export const MAX_INDENTED_BYTES = 16 * 1024 * 1024
/** Estimated bytes of the objects of one entry. */
const OVERHEAD_BYTES = 512
/** Bytes of the indented forms that are remembered. At least one always fits. */
const MAX_REMEMBERED_BYTES = 2 * MAX_INDENTED_BYTES

/** Indented forms by the entity tag of the body. A form that would be too long is the body, so that it is not tried again. */
const indentedByTag = new LRUCache<string, Buffer>({
  maxSize: MAX_REMEMBERED_BYTES,
  sizeCalculation: (indented) => indented.length + OVERHEAD_BYTES,
})

/**
 * Returns the indented form of a stored body, which is made once and remembered: indenting costs many times as much as the
 * rest of a hit. Returns the body itself if the form would be too long. `etag`: the strong entity tag of the body.
 */
export function indentOnce(etag: string, body: Buffer): Buffer {
  if (body.length >= MAX_INDENTED_BYTES) return body
  const known = indentedByTag.get(etag)
  if (known !== undefined) return known
  const form = indent(body, MAX_INDENTED_BYTES)
  const indented = form === undefined ? body : ownBuffer(form)
  indentedByTag.set(etag, indented)
  return indented
}

/** Copies a part of a larger buffer, all of which would stay in memory with the part. */
function ownBuffer(part: Buffer): Buffer {
  const own = Buffer.allocUnsafeSlow(part.length)
  part.copy(own)
  return own
}

/** Returns the indented form, or the body itself if the form would be too long. */
export function indentWithin(body: Buffer): Buffer {
  return indent(body, MAX_INDENTED_BYTES) ?? body
}

/** Returns the position after the closing quote of the string that starts at `at`. Bytes of UTF-8 sequences are never quotes. */
function endOfString(input: Buffer, at: number): number {
  let end = at + 1
  while (end < input.length && input[end] !== QUOTE) end += input[end] === BACKSLASH ? 2 : 1
  return Math.min(end + 1, input.length)
}

function skipSpace(input: Buffer, at: number): number {
  let next = at
  while (isSpace(input[next] ?? 0)) next++
  return next
}

function isSpace(byte: number): boolean {
  return byte === SPACE || byte === LINE_FEED || byte === 0x0d || byte === 0x09
}

/** `[` and `{`, `]` and `}` differ in one bit. */
function isOpening(byte: number): boolean {
  return (byte & 0xdf) === 0x5b
}

function isClosing(byte: number): boolean {
  return (byte & 0xdf) === 0x5d
}

/** A buffer to append to. Its capacity doubles when it is full. */
class GrowingBuffer {
  #bytes: Buffer
  #length = 0

  constructor(capacity: number) {
    this.#bytes = Buffer.allocUnsafe(capacity)
  }

  byte(value: number): void {
    this.#reserve(1)
    this.#bytes[this.#length++] = value
  }

  copy(from: Buffer, start: number, end: number): void {
    this.#reserve(end - start)
    this.#length += from.copy(this.#bytes, this.#length, start, end)
  }

  line(depth: number): void {
    const spaces = INDENT_SPACES * Math.min(Math.max(depth, 0), MAX_INDENTED_DEPTH)
    this.#reserve(spaces + 1)
    this.#bytes[this.#length++] = LINE_FEED
    this.#bytes.fill(SPACE, this.#length, this.#length + spaces)
    this.#length += spaces
  }

  get length(): number {
    return this.#length
  }

  content(): Buffer {
    return this.#bytes.subarray(0, this.#length)
  }

  #reserve(count: number): void {
    if (this.#length + count <= this.#bytes.length) return
    const larger = Buffer.allocUnsafe(2 * (this.#length + count))
    this.#bytes.copy(larger, 0, 0, this.#length)
    this.#bytes = larger
  }
}
