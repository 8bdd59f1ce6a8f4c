/** Finds the members of JSON objects in bytes. */
import { CLOSE, COLON, COMMA, endOfText, endOfValue, OPEN, QUOTE, skipSpace, valueIn } from './json-scan.ts'

export interface ByteRange {
  readonly from: number
  readonly to: number
}

export interface Members {
  /** The positions of the values. Of equal names the last one counts, as in JSON.parse. */
  readonly byName: ReadonlyMap<string, ByteRange>
  /** Behind the closing brace. */
  readonly end: number
}

/** Returns the end of the value of a member, as `endOfValue`. */
type EndOfMember = (name: string, valueAt: number) => number

/** Returns the members of the object at `from`, or undefined if there is none. */
export function readMembers(
  bytes: Buffer,
  from: number,
  endOf: EndOfMember = (_name, at) => endOfValue(bytes, at),
): Members | undefined {
  if (bytes[from] !== OPEN) return undefined
  const byName = new Map<string, ByteRange>()
  let at = skipSpace(bytes, from + 1)
  if (bytes[at] === CLOSE) return { byName, end: at + 1 }
  for (;;) {
    const member = readName(bytes, at)
    if (member === undefined) return undefined
    const to = endOf(member.name, member.valueAt)
    if (to < 0) return undefined
    byName.set(member.name, { from: member.valueAt, to })
    at = skipSpace(bytes, to)
    if (bytes[at] === CLOSE) return { byName, end: at + 1 }
    if (bytes[at] !== COMMA) return undefined
    at = skipSpace(bytes, at + 1)
  }
}

/** Returns the name of the member at `at`, and where its value begins. */
export function readName(bytes: Buffer, at: number): { readonly name: string; readonly valueAt: number } | undefined {
  if (bytes[at] !== QUOTE) return undefined
  const end = endOfText(bytes, at)
  const name = end < 0 ? undefined : valueIn(bytes, at, end)?.value
  const colon = skipSpace(bytes, end)
  if (typeof name !== 'string' || bytes[colon] !== COLON) return undefined
  return { name, valueAt: skipSpace(bytes, colon + 1) }
}
