/** Work on long bytes and texts, in turns of the event loop: copied, hashed and printed as JSON. */
import { createHash } from 'node:crypto'
import { type CooperativeTask, isTurnOver, isTurnOverNow, PAUSE, runTask, waitForTurn } from './turns.ts'

const SLICE_BYTES = 256 * 1024
/** Copying, or hashing without support of the processor, takes about so long. */
const SLICE_MS = 1

/** Yields parts that take at most about a millisecond, as many in each turn of the event loop as it has time for. */
export async function* partsInTurns(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += SLICE_BYTES) {
    const part = bytes.subarray(at, at + SLICE_BYTES)
    const turn = waitForTurn((SLICE_MS * part.length) / SLICE_BYTES)
    if (turn !== undefined) await turn
    yield part
  }
}

/** As `Buffer.concat`. A single chunk is returned as it is. */
export async function concatInTurns(chunks: readonly Buffer[]): Promise<Buffer> {
  const [first] = chunks
  if (first !== undefined && chunks.length === 1) return first
  const whole = Buffer.allocUnsafeSlow(chunks.reduce((length, chunk) => length + chunk.length, 0))
  let length = 0
  for (const chunk of chunks) for await (const part of partsInTurns(chunk)) length += part.copy(whole, length)
  return whole
}

/** Returns the SHA-256 digest. */
export async function digestInTurns(bytes: Buffer, encoding: 'hex' | 'base64url'): Promise<string> {
  const hash = createHash('sha256')
  for await (const part of partsInTurns(bytes)) hash.update(part)
  return hash.digest(encoding)
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

function* print(printed: Printed, value: unknown): CooperativeTask<void> {
  if (isTurnOver()) yield PAUSE
  if (typeof value === 'string' && value.length > PIECE_CHARS) yield* printLong(printed, value)
  else if (typeof value !== 'object' || value === null) printed.add(JSON.stringify(value) ?? 'null')
  else if (Array.isArray(value)) {
    for (const [at, item] of value.entries()) {
      printed.add(at === 0 ? '[' : ',')
      yield* print(printed, item)
    }
    printed.add(value.length === 0 ? '[]' : ']')
  } else {
    let before = '{'
    for (const [name, member] of Object.entries(value)) {
      if (member === undefined) continue
      printed.add(before)
      yield* print(printed, name)
      printed.add(':')
      yield* print(printed, member)
      before = ','
    }
    printed.add(before === '{' ? '{}' : '}')
  }
}

/** Pieces begin and end between characters, also those of two code units. */
function* printLong(printed: Printed, text: string): CooperativeTask<void> {
  printed.add('"')
  for (let at = 0; at < text.length; ) {
    if (isTurnOverNow()) yield PAUSE
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
