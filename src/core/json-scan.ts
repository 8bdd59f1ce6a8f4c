/**
 * Walks over JSON in bytes without parsing it: only borders are read. All functions answer -1 for what is cut off
 * or does not fit together. Numbers, literals, escapes and the grammar inside containers that are only stepped over
 * are not looked at; brackets and the ends of texts always are, and what is nested beyond all measure is refused.
 */
export const QUOTE = 0x22
export const COMMA = 0x2c
export const COLON = 0x3a
export const BACKSLASH = 0x5c
export const OPEN_LIST = 0x5b
export const CLOSE_LIST = 0x5d
export const OPEN = 0x7b
export const CLOSE = 0x7d

/** So many kinds of brackets fit into one number; deeper ones are kept in a list. */
const DEEPEST_IN_NUMBER = 30
const DEEP = -2
/** Nothing that a manager says is as deep, and what parses or prints it would run out of stack. */
const DEEPEST = 200
/** Texts up to here are searched byte by byte. */
const SHORT = 40

export function skipSpace(bytes: Buffer, at: number): number {
  let place = at
  for (;;) {
    const byte = bytes[place]
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return place
    place++
  }
}

/** The last byte before `at` that is no white space. */
export function backOverSpace(bytes: Buffer, at: number): number {
  let place = at - 1
  for (;;) {
    const byte = bytes[place]
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return place
    place--
  }
}

/** Behind the closing quote of the text whose opening quote stands at `at`. */
export function endOfText(bytes: Buffer, at: number): number {
  const near = Math.min(bytes.length, at + SHORT)
  let place = at + 1
  for (; place < near; place++) {
    const byte = bytes[place]
    if (byte === QUOTE) return place + 1
    if (byte === BACKSLASH) place++
  }
  return place < bytes.length ? endOfLongText(bytes, place) : -1
}

/** From a place where no escape is open: searched for natively, which pays for texts that are long. */
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

/** Behind any value that begins at `at`. */
export function endOfValue(bytes: Buffer, at: number): number {
  const byte = bytes[at]
  if (byte === QUOTE) return endOfText(bytes, at)
  if (byte === OPEN || byte === OPEN_LIST) return endOfContainer(bytes, at)
  return endOfScalar(bytes, at)
}

/** The same; numbers and literals, which are short, are read for what they are. */
export function endOfCheckedValue(bytes: Buffer, at: number): number {
  const byte = bytes[at]
  if (byte === QUOTE || byte === OPEN || byte === OPEN_LIST) return endOfValue(bytes, at)
  const end = endOfScalar(bytes, at)
  return end > 0 && valueIn(bytes, at, end) ? end : -1
}

/** Behind a number or literal: up to a comma, a closing bracket, white space, or the end; -1 where nothing stands. */
export function endOfScalar(bytes: Buffer, at: number): number {
  let place = at
  for (; place < bytes.length; place++) {
    const byte = bytes[place]
    if (byte === COMMA || byte === CLOSE || byte === CLOSE_LIST || byte === undefined || byte <= 0x20) break
    if (byte === QUOTE || byte === COLON || byte === OPEN || byte === OPEN_LIST) return -1
  }
  return place > at ? place : -1
}

/** Behind the bracket that closes the one at `at`. */
export function endOfContainer(bytes: Buffer, at: number): number {
  const end = endBy(bytes, at, 0, 0)
  return end === DEEP ? endOfDeep(bytes, at, []) : end
}

/** Behind the object that is open at `at`, behind one of its members. */
export function endOfOpen(bytes: Buffer, at: number): number {
  const end = endBy(bytes, at, 1, 1)
  return end === DEEP ? endOfDeep(bytes, at, [OPEN]) : end
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
      if (++depth > DEEPEST_IN_NUMBER) return DEEP
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
      if (open.push(byte) > DEEPEST) return -1
    } else if (byte === CLOSE || byte === CLOSE_LIST) {
      // Both closing brackets lie two above their opening ones.
      if (open.pop() !== byte - 2) return -1
      if (open.length === 0) return place + 1
    }
  }
  return -1
}

/** The value between two places, or nothing where JSON refuses it. */
export function valueIn(bytes: Buffer, from: number, to: number): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(bytes.toString('utf8', from, to)) }
  } catch {
    return undefined
  }
}
