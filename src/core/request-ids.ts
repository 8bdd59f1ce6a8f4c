import { randomFillSync } from 'node:crypto'

const IDS = 256
const RANDOM_BYTES = 16
const ID_LENGTH = 36
const HYPHEN = 0x2d
const DIGITS = Buffer.from('0123456789abcdef', 'latin1')

const random = Buffer.alloc(IDS * RANDOM_BYTES)
const ids = Buffer.alloc(IDS * ID_LENGTH)
let text = ''
let nextAt = 0

/**
 * Returns a new id of a request: a random UUID (version 4, RFC 9562). `crypto.randomUUID` joins each id from twenty strings,
 * which V8 copies again when the id is sent. Here many ids are written at once into one text, and an id is a part of it.
 */
export function newRequestId(): string {
  if (nextAt >= text.length) makeIds()
  const id = text.slice(nextAt, nextAt + ID_LENGTH)
  nextAt += ID_LENGTH
  return id
}

/** Plain loops: an iterator over the bytes takes four times as long. */
function makeIds(): void {
  randomFillSync(random)
  let at = 0
  for (let from = 0; from < random.length; from += RANDOM_BYTES) {
    for (let place = 0; place < RANDOM_BYTES; place += 1) {
      const byte = withVersion(place, random[from + place] ?? 0)
      if (place === 4 || place === 6 || place === 8 || place === 10) ids[at++] = HYPHEN
      ids[at++] = DIGITS[byte >> 4] ?? 0
      ids[at++] = DIGITS[byte & 0x0f] ?? 0
    }
  }
  text = ids.toString('latin1')
  nextAt = 0
}

/** Version 4 and the variant of RFC 9562 are in the first bits of these two bytes. */
function withVersion(place: number, byte: number): number {
  if (place === 6) return (byte & 0x0f) | 0x40
  return place === 8 ? (byte & 0x3f) | 0x80 : byte
}
