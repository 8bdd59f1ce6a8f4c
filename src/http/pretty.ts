const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
const SPACE = 0x20
const LINE_FEED = 0x0a
const STEP = 3

/**
 * Deeper levels are indented like this one. No answer of a manager has a tenth of it; one of nothing but
 * brackets would else grow with the square of its length.
 */
const DEEPEST = 100

/**
 * Indents JSON text by three spaces and ends it with a line feed, as the manager writes it for `pretty`.
 * Values are copied byte by byte, never parsed: numbers, escapes and the order of keys stay what they were.
 * The text must be well-formed (readEnvelope checked it); what is not gives no error, only odd lines.
 */
export function pretty(json: string | Buffer): Buffer {
  const input = typeof json === 'string' ? Buffer.from(json) : json
  const out = new Growing(input.length * 2 + 16)
  let depth = 0
  let at = 0
  while (at < input.length) {
    const byte = input[at] ?? 0
    if (byte === QUOTE) {
      const end = endOfText(input, at)
      out.copy(input, at, end)
      at = end
      continue
    }
    at++
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
  return out.taken()
}

/** The place behind the closing quote of the text that opens at `at`. Bytes of UTF-8 sequences are never quotes. */
function endOfText(input: Buffer, at: number): number {
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

/** Bytes that are appended to; doubles its room when that is used up. */
class Growing {
  #bytes: Buffer
  #length = 0

  constructor(room: number) {
    this.#bytes = Buffer.allocUnsafe(room)
  }

  byte(value: number): void {
    this.#makeRoom(1)
    this.#bytes[this.#length++] = value
  }

  copy(from: Buffer, start: number, end: number): void {
    this.#makeRoom(end - start)
    this.#length += from.copy(this.#bytes, this.#length, start, end)
  }

  line(depth: number): void {
    const blanks = STEP * Math.min(Math.max(depth, 0), DEEPEST)
    this.#makeRoom(blanks + 1)
    this.#bytes[this.#length++] = LINE_FEED
    this.#bytes.fill(SPACE, this.#length, this.#length + blanks)
    this.#length += blanks
  }

  taken(): Buffer {
    return this.#bytes.subarray(0, this.#length)
  }

  #makeRoom(count: number): void {
    if (this.#length + count <= this.#bytes.length) return
    const wider = Buffer.allocUnsafe(2 * (this.#length + count))
    this.#bytes.copy(wider, 0, 0, this.#length)
    this.#bytes = wider
  }
}
