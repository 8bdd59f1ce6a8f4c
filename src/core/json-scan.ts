/**
 * Finds the ends of JSON values in bytes, and checks them on the way, without parsing them. Each function returns the
 * offset after the value, or -1 if the value is truncated, is not JSON (RFC 8259) or is nested too deeply. Whether texts
 * are valid UTF-8 is not checked.
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
const LITERALS = ['true', 'false', 'null'].map((literal) => Buffer.from(literal))

export function skipSpace(bytes: Buffer, at: number): number {
  let place = at
  for (;;) {
    const byte = bytes[place]
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return place
    place++
  }
}

/** `at`: the opening quote of a text. */
export function endOfText(bytes: Buffer, at: number): number {
  let place = at + 1
  for (;;) {
    while (IS_PLAIN[bytes[place] ?? 0] === 1) place++
    const byte = bytes[place]
    if (byte === QUOTE) return place + 1
    if (byte !== BACKSLASH) return -1
    place = endOfEscape(bytes, place)
    if (place < 0) return -1
  }
}

/** `at`: a backslash. */
export function endOfEscape(bytes: Buffer, at: number): number {
  const byte = bytes[at + 1] ?? 0
  if (byte !== LETTER_U) return IS_ESCAPED[byte] === 1 ? at + 2 : -1
  for (let place = at + 2; place < at + 6; place++) if (IS_HEX_DIGIT[bytes[place] ?? 0] !== 1) return -1
  return at + 6
}

/** `at`: the first byte of any value. */
export function endOfValue(bytes: Buffer, at: number): number {
  return endWithin(bytes, at, 0)
}

/** `depth`: the number of open brackets around the value. */
function endWithin(bytes: Buffer, at: number, depth: number): number {
  const byte = bytes[at]
  if (byte === QUOTE) return endOfText(bytes, at)
  if (byte !== OPEN && byte !== OPEN_LIST) return endOfScalar(bytes, at)
  if (depth === MAX_DEPTH) return -1
  const first = skipSpace(bytes, at + 1)
  // In ASCII, each closing bracket is two above its opening one.
  if (bytes[first] === byte + 2) return first + 1
  return byte === OPEN ? endOfMembers(bytes, first, depth + 1) : endOfElements(bytes, first, depth + 1)
}

/** `at`: the first byte of a member's name. */
function endOfMembers(bytes: Buffer, at: number, depth: number): number {
  let place = at
  for (;;) {
    if (bytes[place] !== QUOTE) return -1
    place = endOfText(bytes, place)
    if (place < 0) return -1
    place = skipSpace(bytes, place)
    if (bytes[place] !== COLON) return -1
    place = endWithin(bytes, skipSpace(bytes, place + 1), depth)
    if (place < 0) return -1
    place = skipSpace(bytes, place)
    if (bytes[place] === CLOSE) return place + 1
    if (bytes[place] !== COMMA) return -1
    place = skipSpace(bytes, place + 1)
  }
}

/** `at`: the first byte of an element of a list. */
function endOfElements(bytes: Buffer, at: number, depth: number): number {
  let place = at
  for (;;) {
    const end = endWithin(bytes, place, depth)
    if (end < 0) return -1
    place = skipSpace(bytes, end)
    if (bytes[place] === CLOSE_LIST) return place + 1
    if (bytes[place] !== COMMA) return -1
    place = skipSpace(bytes, place + 1)
  }
}

/** `at`: the first byte of a number or a literal. */
export function endOfScalar(bytes: Buffer, at: number): number {
  const byte = bytes[at] ?? 0
  if (byte === 0x2d || isDigit(byte)) return endOfNumber(bytes, at)
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
  while (isDigit(bytes[place] ?? 0)) place++
  return place > at ? place : -1
}

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39
}

/** Parses the bytes between two offsets; `undefined` if they are not JSON. */
export function valueIn(bytes: Buffer, from: number, to: number): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(bytes.toString('utf8', from, to)) }
  } catch {
    return undefined
  }
}
