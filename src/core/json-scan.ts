/**
 * Finds the ends of JSON values in bytes without parsing them. Each function returns the offset after the value, or -1
 * if the value is truncated, its brackets do not match, or it is nested too deeply. Numbers, literals, escapes and the
 * grammar inside skipped containers are not checked.
 */
export const QUOTE = 0x22
export const COMMA = 0x2c
export const COLON = 0x3a
export const BACKSLASH = 0x5c
export const OPEN_LIST = 0x5b
export const CLOSE_LIST = 0x5d
export const OPEN = 0x7b
export const CLOSE = 0x7d

/** The open brackets up to this depth are bits of one number; deeper ones are in an array. */
const MAX_DEPTH_IN_NUMBER = 30
const TOO_DEEP_FOR_NUMBER = -2
/** Responses of managers are less deep, and parsing or printing deeper ones could exceed the stack. */
const MAX_DEPTH = 200
/** Strings are searched byte by byte for this many bytes, then by `indexOf`. */
const SHORT_STRING_BYTES = 40

export function skipSpace(bytes: Buffer, at: number): number {
  let place = at
  for (;;) {
    const byte = bytes[place]
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return place
    place++
  }
}

/** Returns the offset of the last byte before `at` that is not white space. */
export function backOverSpace(bytes: Buffer, at: number): number {
  let place = at - 1
  for (;;) {
    const byte = bytes[place]
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return place
    place--
  }
}

/** `at`: the opening quote of a string. */
export function endOfText(bytes: Buffer, at: number): number {
  const near = Math.min(bytes.length, at + SHORT_STRING_BYTES)
  let place = at + 1
  for (; place < near; place++) {
    const byte = bytes[place]
    if (byte === QUOTE) return place + 1
    if (byte === BACKSLASH) place++
  }
  return place < bytes.length ? endOfLongText(bytes, place) : -1
}

/** `from` is not within an escape. `indexOf` is faster for long strings. */
function endOfLongText(bytes: Buffer, from: number): number {
  let place = from
  for (;;) {
    const quote = bytes.indexOf(QUOTE, place)
    if (quote < 0) return -1
    let slashes = 0
    while (quote - slashes > place && bytes[quote - slashes - 1] === BACKSLASH) slashes++
    if (slashes % 2 === 0) return quote + 1
    place = quote + 1
  }
}

/** `at`: the first byte of any value. */
export function endOfValue(bytes: Buffer, at: number): number {
  const byte = bytes[at]
  if (byte === QUOTE) return endOfText(bytes, at)
  if (byte === OPEN || byte === OPEN_LIST) return endOfContainer(bytes, at)
  return endOfScalar(bytes, at)
}

/** As `endOfValue`, but numbers and literals are checked. */
export function endOfCheckedValue(bytes: Buffer, at: number): number {
  const byte = bytes[at]
  if (byte === QUOTE || byte === OPEN || byte === OPEN_LIST) return endOfValue(bytes, at)
  const end = endOfScalar(bytes, at)
  return end > 0 && valueIn(bytes, at, end) ? end : -1
}

/** `at`: a number or literal. It ends at a comma, a closing bracket, white space or the end of the bytes. */
export function endOfScalar(bytes: Buffer, at: number): number {
  let place = at
  for (; place < bytes.length; place++) {
    const byte = bytes[place]
    if (byte === COMMA || byte === CLOSE || byte === CLOSE_LIST || byte === undefined || byte <= 0x20) break
    if (byte === QUOTE || byte === COLON || byte === OPEN || byte === OPEN_LIST) return -1
  }
  return place > at ? place : -1
}

/** `at`: an opening bracket. */
export function endOfContainer(bytes: Buffer, at: number): number {
  const end = endBy(bytes, at, 0, 0)
  return end === TOO_DEEP_FOR_NUMBER ? endOfDeep(bytes, at, []) : end
}

/** `at`: a place within an object, after one of its members. */
export function endOfOpen(bytes: Buffer, at: number): number {
  const end = endBy(bytes, at, 1, 1)
  return end === TOO_DEEP_FOR_NUMBER ? endOfDeep(bytes, at, [OPEN]) : end
}

function endBy(bytes: Buffer, at: number, open: number, openKinds: number): number {
  const { length } = bytes
  let depth = open
  let kinds = openKinds
  for (let place = at; place < length; place++) {
    const byte = bytes[place]
    if (byte === QUOTE) {
      place = endOfText(bytes, place) - 1
      if (place < 0) return -1
    } else if (byte === OPEN || byte === OPEN_LIST) {
      if (++depth > MAX_DEPTH_IN_NUMBER) return TOO_DEEP_FOR_NUMBER
      kinds = (kinds << 1) | (byte === OPEN ? 1 : 0)
    } else if (byte === CLOSE || byte === CLOSE_LIST) {
      if ((kinds & 1) !== (byte === CLOSE ? 1 : 0)) return -1
      if (--depth === 0) return place + 1
      kinds >>>= 1
    }
  }
  return -1
}

function endOfDeep(bytes: Buffer, at: number, open: number[]): number {
  for (let place = at; place < bytes.length; place++) {
    const byte = bytes[place]
    if (byte === QUOTE) {
      place = endOfText(bytes, place) - 1
      if (place < 0) return -1
    } else if (byte === OPEN || byte === OPEN_LIST) {
      if (open.push(byte) > MAX_DEPTH) return -1
    } else if (byte === CLOSE || byte === CLOSE_LIST) {
      // In ASCII, each closing bracket is two above its opening one.
      if (open.pop() !== byte - 2) return -1
      if (open.length === 0) return place + 1
    }
  }
  return -1
}

/** Parses the bytes between two offsets; `undefined` if they are not JSON. */
export function valueIn(bytes: Buffer, from: number, to: number): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(bytes.toString('utf8', from, to)) }
  } catch {
    return undefined
  }
}
