/** Reads uploaded texts in slices, so that a long one does not block the event loop, and checks uploaded lists. */
import { isUtf8 } from 'node:buffer'
import { StringDecoder } from 'node:string_decoder'
import { EdgeError } from '../core/errors.ts'
import { waitForTurn } from '../core/turns.ts'
import { printable } from './parameters.ts'

const SLICE_BYTES = 16 * 1024
/** Checking a slice takes about as many milliseconds, at most 2. */
const SLICE_MS = 1

/** Decodes UTF-8. Yields slices, as many in each turn of the event loop as it has time for, and whether it is the last one. */
export async function* slicesOf(bytes: Buffer): AsyncGenerator<readonly [slice: string, isLast: boolean]> {
  const decoder = new StringDecoder('utf8')
  for (let from = 0; from < bytes.length; from += SLICE_BYTES) {
    await waitForTurn(SLICE_MS)
    yield [decoder.write(bytes.subarray(from, from + SLICE_BYTES)), from + SLICE_BYTES >= bytes.length]
  }
}

/** Throws 705, naming the line, if a line of a CDB list is not `key:value`. */
export async function checkList(bytes: Buffer): Promise<void> {
  if (!isUtf8(bytes)) throw new EdgeError(705, '. The text is not UTF-8')
  let start = ''
  let line = ''
  let number = 1
  for await (const [text] of slicesOf(bytes)) {
    const lines = text.split('\n')
    for (const [index, part] of lines.entries()) {
      if (start.length < MAX_PRINTED) start += part.slice(0, MAX_PRINTED)
      line = outlineOf(line + part)
      if (index === lines.length - 1) break
      checkLine(line, start, number)
      start = ''
      line = ''
      number += 1
    }
  }
  if (line !== '') checkLine(line, start, number)
}

/** More than `printable` returns. */
const MAX_PRINTED = 128

/** Returns a short text for a long line, so that the parts of a line in several slices cost the same as a short one. */
function outlineOf(line: string): string {
  if (line.length <= MAX_PRINTED) return line
  return line.replace(/[^:]+/g, (part) => (part.trim() === '' ? ' ' : 'x')).slice(0, MAX_PRINTED)
}

function checkLine(line: string, start: string, number: number): void {
  if (line.trim() === '') return
  const colon = line.indexOf(':')
  if (colon <= 0 || line.includes(':', colon + 1) || line.slice(0, colon).trim() === '') {
    throw new EdgeError(705, `. Line ${number}: ${printable(start)}`)
  }
}
