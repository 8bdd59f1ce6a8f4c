/** Work on long bytes and texts, in turns of the event loop: copied, hashed and printed as JSON. */
import { createHash, hash } from 'node:crypto'
import { StringDecoder } from 'node:string_decoder'
import { type CooperativeTask, hasTime, isTurnOver, PAUSE, runTask, waitForTurn } from './turns.ts'

const SLICE_BYTES = 256 * 1024
/** Copying, or hashing without support of the processor, takes about so long. */
const SLICE_MS = 1
/** What takes a few microseconds waits for no turn. */
export const SHORT_BYTES = 4096

/** Yields parts that take at most about a millisecond, as many in each turn of the event loop as it has time for. */
async function* partsInTurns(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += SLICE_BYTES) {
    const part = bytes.subarray(at, at + SLICE_BYTES)
    const turn = waitForTurn((SLICE_MS * part.length) / SLICE_BYTES)
    if (turn !== undefined) await turn
    yield part
  }
}

/** Does work on each part of long bytes, as a task that pauses between them; on short bytes at once. */
export function* onEachPart(bytes: Buffer, work: (part: Buffer) => void): CooperativeTask<void> {
  for (let at = 0; at < bytes.length; at += SLICE_BYTES) {
    if (bytes.length > SLICE_BYTES && !hasTime()) yield PAUSE
    work(bytes.subarray(at, at + SLICE_BYTES))
  }
}

/** As `Buffer.concat`. A single chunk is returned as it is. */
export async function concatInTurns(chunks: readonly Buffer[]): Promise<Buffer> {
  const [first] = chunks
  return first !== undefined && chunks.length === 1 ? first : concatOwn(chunks)
}

/**
 * As `Buffer.concat`, in separate memory: a part of a larger buffer would keep all of it in memory. Returns a promise for a
 * long result only.
 */
export function concatOwn(chunks: readonly Buffer[]): Buffer | Promise<Buffer> {
  let length = 0
  for (const chunk of chunks) length += chunk.length
  const whole = Buffer.allocUnsafeSlow(length)
  if (length > SLICE_BYTES) return copyInTurns(chunks, whole)
  let at = 0
  for (const chunk of chunks) at += chunk.copy(whole, at)
  return whole
}

async function copyInTurns(chunks: readonly Buffer[], whole: Buffer): Promise<Buffer> {
  let length = 0
  let copied = 0
  for (const chunk of chunks) {
    if (chunk.length > SLICE_BYTES) {
      for await (const part of partsInTurns(chunk)) length += part.copy(whole, length)
      continue
    }
    if (copied > SLICE_BYTES) {
      await waitForTurn(SLICE_MS)
      copied = 0
    }
    copied += chunk.length
    length += chunk.copy(whole, length)
  }
  return whole
}

/** Returns the SHA-256 digest. A promise: it takes more than this turn. */
export function digestInTurns(bytes: Buffer, encoding: 'hex' | 'base64url'): string | Promise<string> {
  if (bytes.length > SLICE_BYTES) return digestLong(bytes, encoding)
  const turn = bytes.length <= SHORT_BYTES ? undefined : waitForTurn((SLICE_MS * bytes.length) / SLICE_BYTES)
  return turn === undefined ? hash('sha256', bytes, encoding) : turn.then(() => hash('sha256', bytes, encoding))
}

async function digestLong(bytes: Buffer, encoding: 'hex' | 'base64url'): Promise<string> {
  const digest = createHash('sha256')
  for await (const part of partsInTurns(bytes)) digest.update(part)
  return digest.digest(encoding)
}

/** Returns the text of UTF-8. */
export async function textInTurns(bytes: Buffer): Promise<string> {
  const decoder = new StringDecoder('utf8')
  let text = ''
  for await (const part of partsInTurns(bytes)) text += decoder.write(part)
  return text + decoder.end()
}

/** Characters that are printed at once. */
const PIECE_CHARS = 32 * 1024

/** Returns the bytes of `JSON.stringify` for a value that came from JSON, however long its texts and lists are. */
export async function jsonInTurns(value: unknown): Promise<Buffer> {
  const printed = new Printed()
  await runTask(print(printed, value))
  return concatInTurns(printed.end())
}

class Printed {
  readonly #chunks: Buffer[] = []
  #text = ''

  add(text: string): void {
    this.#text += text
    if (this.#text.length >= PIECE_CHARS) this.end()
  }

  end(): readonly Buffer[] {
    this.#chunks.push(Buffer.from(this.#text))
    this.#text = ''
    return this.#chunks
  }
}

/** Small values are printed natively, which is several times faster. */
function* print(printed: Printed, value: unknown): CooperativeTask<void> {
  if (isTurnOver()) yield PAUSE
  if (sizeLeft(value, PIECE_CHARS) >= 0) printed.add(JSON.stringify(value) ?? 'null')
  else if (typeof value === 'string') yield* printLong(printed, value)
  else if (Array.isArray(value)) {
    for (const [at, item] of value.entries()) {
      printed.add(at === 0 ? '[' : ',')
      yield* print(printed, item)
    }
    printed.add(']')
  } else {
    let before = '{'
    for (const [name, member] of Object.entries(Object(value))) {
      if (member === undefined) continue
      printed.add(before)
      yield* print(printed, name)
      printed.add(':')
      yield* print(printed, member)
      before = ','
    }
    printed.add('}')
  }
}

/** Returns how much of the budget of characters a value leaves; negative: it needs more. */
function sizeLeft(value: unknown, budget: number): number {
  if (typeof value === 'string') return budget - value.length - 2
  if (typeof value !== 'object' || value === null) return budget - 4
  let left = budget - 2
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length && left >= 0; at += 1) left = sizeLeft(value[at], left)
    return left
  }
  for (const name in value) {
    if (left < 0) break
    left = sizeLeft(Reflect.get(value, name), left - name.length)
  }
  return left
}

/** Pieces begin and end between characters, also those of two code units. */
function* printLong(printed: Printed, text: string): CooperativeTask<void> {
  printed.add('"')
  for (let at = 0; at < text.length; ) {
    if (!hasTime()) yield PAUSE
    const end = at + PIECE_CHARS
    const piece = text.slice(at, isSecondUnit(text.charCodeAt(end)) ? end + 1 : end)
    printed.add(JSON.stringify(piece).slice(1, -1))
    at += piece.length
  }
  printed.add('"')
}

function isSecondUnit(code: number): boolean {
  return code >= 0xdc00 && code <= 0xdfff
}
