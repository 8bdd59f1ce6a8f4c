/** Parses JSON in turns of the event loop: short values natively, and long ones in pieces. */
import {
  BACKSLASH,
  CLOSE,
  CLOSE_LIST,
  COMMA,
  endOfEscape,
  endOfValue,
  OPEN_LIST,
  QUOTE,
  skipSpace,
} from './json-scan.ts'
import { type CooperativeTask, hasTime, PAUSE, runTask, waitForJsonTurn } from './turns.ts'

/** Parsing this much takes about a millisecond. */
const PIECE_BYTES = 64 * 1024
/** A shorter text is parsed natively: a part of a collection is a little longer than a piece. */
const MIN_LONG_BYTES = 2 * PIECE_BYTES

/** Returns the value of bytes that were checked before: `envelope-scan.ts` accepts them. */
export async function parseInTurns(bytes: Buffer): Promise<unknown> {
  if (bytes.length > MIN_LONG_BYTES) return runTask(parseLong({ bytes, at: skipSpace(bytes, 0) }))
  await waitForJsonTurn(bytes.length)
  return JSON.parse(bytes.toString())
}

/** The bytes, and the place up to which they are parsed. */
interface Reader {
  readonly bytes: Buffer
  at: number
}

function* parseLong(reader: Reader): CooperativeTask<unknown> {
  const byte = reader.bytes[reader.at]
  if (byte === QUOTE) return yield* parseText(reader)
  if (byte === OPEN_LIST) return yield* parseList(reader)
  return yield* parseObject(reader)
}

function* parseList(reader: Reader): CooperativeTask<unknown[]> {
  const list: unknown[] = []
  yield* readItems(reader, CLOSE_LIST, function* (isLong, text) {
    if (isLong) list.push(yield* parseLong(reader))
    else for (const item of JSON.parse(`[${text}]`)) list.push(item)
  })
  return list
}

function* parseObject(reader: Reader): CooperativeTask<object> {
  const { bytes } = reader
  const members: Record<string, unknown> = {}
  const add = (name: string, value: unknown) => {
    if (name !== '__proto__') members[name] = value
    else Object.defineProperty(members, name, { value, configurable: true, enumerable: true, writable: true })
  }
  yield* readItems(reader, CLOSE, function* (isLong, text) {
    if (!isLong) {
      for (const [name, value] of Object.entries(JSON.parse(`{${text}}`))) add(name, value)
      return
    }
    const name = yield* parseText(reader)
    reader.at = skipSpace(bytes, skipSpace(bytes, reader.at) + 1)
    const end = endOfShort(bytes, reader.at)
    add(name, end < 0 ? yield* parseLong(reader) : JSON.parse(bytes.toString('utf8', reader.at, end)))
    if (end >= 0) reader.at = end
  })
  return members
}

type TakeItems = (isLong: boolean, text: string) => CooperativeTask<void>

/** Reads up to the closing bracket. `take` gets the text of some short items, or moves the reader past a long one. */
function* readItems(reader: Reader, closing: number, take: TakeItems): CooperativeTask<void> {
  const { bytes } = reader
  let from = skipSpace(bytes, reader.at + 1)
  let at = from
  /** Where the last short item ends. */
  let itemEnd = from
  while (bytes[at] !== closing) {
    if (at >= bytes.length) throw new SyntaxError('unfinished JSON')
    const end = closing === CLOSE ? endOfShortMember(bytes, at) : endOfShort(bytes, at)
    if (end < 0 || end - from > PIECE_BYTES) {
      if (at > from) yield* take(false, bytes.toString('utf8', from, itemEnd))
      from = at
      if (!hasTime()) yield PAUSE
    }
    if (end < 0) {
      reader.at = at
      yield* take(true, '')
    }
    const after = skipSpace(bytes, end < 0 ? reader.at : end)
    at = bytes[after] === COMMA ? skipSpace(bytes, after + 1) : after
    if (end < 0) from = at
    else itemEnd = end
  }
  if (at > from) yield* take(false, bytes.toString('utf8', from, itemEnd))
  reader.at = at + 1
}

function endOfShortMember(bytes: Buffer, at: number): number {
  const end = endOfShort(bytes, at)
  return end < 0 ? end : endOfValue(bytes, skipSpace(bytes, skipSpace(bytes, end) + 1), PIECE_BYTES - (end - at))
}

function endOfShort(bytes: Buffer, at: number): number {
  return endOfValue(bytes, at, PIECE_BYTES)
}

/** Parses a text in pieces that end between two characters. */
function* parseText(reader: Reader): CooperativeTask<string> {
  const { bytes } = reader
  let text = ''
  let from = reader.at + 1
  let at = from
  while (bytes[at] !== QUOTE) {
    if (at < from || at >= bytes.length) throw new SyntaxError('unfinished JSON')
    at = bytes[at] === BACKSLASH ? endOfEscape(bytes, at) : at + 1
    if (at - from < PIECE_BYTES || isContinuation(bytes[at])) continue
    text += JSON.parse(`"${bytes.toString('utf8', from, at)}"`)
    from = at
    if (!hasTime()) yield PAUSE
  }
  reader.at = at + 1
  return text + JSON.parse(`"${bytes.toString('utf8', from, at)}"`)
}

/** Whether the byte is in the middle of a character (UTF-8). */
function isContinuation(byte = 0): boolean {
  return (byte & 0xc0) === 0x80
}
