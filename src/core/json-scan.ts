/**
 * Finds the ends of values, texts and tokens in the bytes of JSON (RFC 8259), without parsing them. A response is
 * checked once (`envelope-scan.ts`): tokens are checked on the way, values and texts are those of checked bytes.
 */
export const QUOTE = 0x22
export const COMMA = 0x2c
export const COLON = 0x3a
export const BACKSLASH = 0x5c
export const OPEN_LIST = 0x5b
export const CLOSE_LIST = 0x5d
export const OPEN = 0x7b
export const CLOSE = 0x7d

/** Brackets around a value. Responses of managers are less deep, and parsing or printing deeper ones could exceed the stack. */
export const MAX_DEPTH = 100

/** 1 for the bytes that stand for themselves in a text: all but control characters, the quote and the backslash. */
export const IS_PLAIN = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte >= 0x20 && byte !== QUOTE && byte !== BACKSLASH ? 1 : 0,
)
/** 1 for white space. */
export const IS_SPACE = Uint8Array.from({ length: 256 }, (_, byte) =>
  '\t\n\r '.includes(String.fromCharCode(byte)) ? 1 : 0,
)
/** 1 for the bytes that may follow a backslash, except `u`. */
const IS_ESCAPED = Uint8Array.from({ length: 256 }, (_, byte) =>
  '"\\/bfnrt'.includes(String.fromCharCode(byte)) ? 1 : 0,
)
const LETTER_U = 0x75
const IS_HEX_DIGIT = Uint8Array.from({ length: 256 }, (_, byte) =>
  /[0-9a-fA-F]/.test(String.fromCharCode(byte)) ? 1 : 0,
)
const IS_DIGIT = Uint8Array.from({ length: 256 }, (_, byte) => (byte >= 0x30 && byte <= 0x39 ? 1 : 0))
const LITERALS = ['true', 'false', 'null'].map((literal) => Buffer.from(literal))

export function skipSpace(bytes: Buffer, at: number): number {
  let place = at
  for (;;) {
    const byte = bytes[place]
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return place
    place++
  }
}

/** Returns the end of a text in checked JSON; negative: it is at `last` or behind it. `at`: the opening quote. */
export function endOfText(bytes: Buffer, at: number, last = bytes.length): number {
  let place = at + 1
  while (place < last && bytes[place] !== QUOTE) place += bytes[place] === BACKSLASH ? 2 : 1
  return place < last ? place + 1 : -1
}

/** Returns the end of a value in checked JSON; negative: it has more than this number of bytes. `at`: its first byte. */
export function endOfValue(bytes: Buffer, at: number, maxBytes = bytes.length): number {
  const last = Math.min(bytes.length, at + maxBytes)
  let depth = 0
  for (let place = at; place < last; place += 1) {
    const byte = bytes[place]
    if (byte === QUOTE) {
      const end = endOfText(bytes, place, last)
      if (end < 0 || depth === 0) return end
      place = end - 1
    } else if (byte === OPEN || byte === OPEN_LIST) depth += 1
    else if (byte === CLOSE || byte === CLOSE_LIST) {
      // The end of what contains a scalar.
      if (depth === 0) return place
      depth -= 1
      if (depth === 0) return place + 1
    } else if (depth === 0 && (byte === COMMA || byte === COLON || IS_SPACE[byte ?? 0] === 1)) return place
  }
  return -1
}

/** Returns the end of an escape; -1 if it is none. `at`: a backslash. */
export function endOfEscape(bytes: Buffer, at: number): number {
  const byte = bytes[at + 1] ?? 0
  if (byte !== LETTER_U) return IS_ESCAPED[byte] === 1 ? at + 2 : -1
  for (let place = at + 2; place < at + 6; place++) if (IS_HEX_DIGIT[bytes[place] ?? 0] !== 1) return -1
  return at + 6
}

/** Returns the end of a number or a literal; -1 if it is none. `at`: its first byte. */
export function endOfScalar(bytes: Buffer, at: number): number {
  const byte = bytes[at] ?? 0
  if (byte === 0x2d || IS_DIGIT[byte] === 1) return endOfNumber(bytes, at)
  for (const literal of LITERALS) {
    if (byte === literal[0]) return isAt(bytes, at, literal) ? at + literal.length : -1
  }
  return -1
}

function isAt(bytes: Buffer, at: number, expected: Buffer): boolean {
  for (let place = 0; place < expected.length; place++) if (bytes[at + place] !== expected[place]) return false
  return true
}

/** `at`: a minus sign or a digit. */
function endOfNumber(bytes: Buffer, at: number): number {
  const first = bytes[at] === 0x2d ? at + 1 : at
  // A leading zero is the whole integer part.
  let place = bytes[first] === 0x30 ? first + 1 : endOfDigits(bytes, first)
  if (place >= 0 && bytes[place] === 0x2e) place = endOfDigits(bytes, place + 1)
  // `e` and `E` differ in one bit.
  if (place < 0 || ((bytes[place] ?? 0) | 0x20) !== 0x65) return place
  const sign = bytes[place + 1]
  return endOfDigits(bytes, sign === 0x2b || sign === 0x2d ? place + 2 : place + 1)
}

function endOfDigits(bytes: Buffer, at: number): number {
  let place = at
  while (IS_DIGIT[bytes[place] ?? 0] === 1) place++
  return place > at ? place : -1
}

/** Parses the bytes between two offsets; `undefined` if they are not JSON. */
export function valueIn(bytes: Buffer, from: number, to: number): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(bytes.toString('utf8', from, to)) }
  } catch {
    return undefined
  }
}
