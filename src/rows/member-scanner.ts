/**
 * Reads fields from the bytes of one row while scanning for the end of the row. A field is found as `fieldValue` finds it
 * in a parsed row: by its full name or along its dots; and, in rows of a nested source, along its first underscore. If
 * several of these exist, the first in the row counts: nodes write each field once.
 */
import {
  BACKSLASH,
  CLOSE,
  COLON,
  COMMA,
  endOfOpen,
  endOfText,
  endOfValue,
  QUOTE,
  skipSpace,
  valueIn,
} from '../core/json-scan.ts'
import { splitNestedName } from '../query/select.ts'
import type { Source } from '../query/sources.ts'

/** Searches an object for named members; reused from row to row without allocation. */
export interface MemberScanner {
  readonly names: readonly Buffer[]
  /** For each name, the fields that it satisfies, as bits. */
  readonly satisfies: readonly number[]
  /** All bits: the scan stops when every field is found. */
  readonly all: number
  /** Start and end of each value of the last scanned object, in the order of `names`; -1 if absent. */
  readonly found: Int32Array
}

/** Each field is a list of alternative names, of which one is enough. */
export function createMemberScanner(fields: readonly (readonly string[])[]): MemberScanner {
  const names = [...new Set(fields.flat())]
  const bitsOf = (name: string) =>
    fields.reduce((bits, alternatives, at) => bits | (alternatives.includes(name) ? 1 << at : 0), 0)
  return {
    names: names.map((name) => Buffer.from(name)),
    satisfies: names.map(bitsOf),
    all: 2 ** fields.length - 1,
    found: new Int32Array(names.length * 2).fill(-1),
  }
}

/** Scans the object at `at` and returns its end, or -1 if it is malformed. `end`: its end, if it is already known. */
export function scanObject(scanner: MemberScanner, bytes: Buffer, at: number, end = -1): number {
  const { found, all } = scanner
  for (let slot = 0; slot < found.length; slot++) found[slot] = -1
  let satisfied = 0
  let position = skipSpace(bytes, at + 1)
  if (bytes[position] === CLOSE) return position + 1
  for (;;) {
    if (bytes[position] !== QUOTE) return -1
    const nameEnd = endOfText(bytes, position)
    if (nameEnd < 0) return -1
    const colon = skipSpace(bytes, nameEnd)
    if (bytes[colon] !== COLON) return -1
    const from = skipSpace(bytes, colon + 1)
    const to = endOfValue(bytes, from)
    if (to < 0) return -1
    satisfied |= recordMember(scanner, bytes, position, nameEnd, from, to)
    if (satisfied === all) return end < 0 ? endOfOpen(bytes, to) : end
    position = skipSpace(bytes, to)
    if (bytes[position] === CLOSE) return position + 1
    if (bytes[position] !== COMMA) return -1
    position = skipSpace(bytes, position + 1)
  }
}

/** Records the value of a member with a searched name, and returns the bits of the fields that it satisfies. */
function recordMember(
  scanner: MemberScanner,
  bytes: Buffer,
  quote: number,
  nameEnd: number,
  from: number,
  to: number,
): number {
  const { names, found, satisfies } = scanner
  for (let slot = 0; slot < names.length; slot++) {
    const name = names[slot]
    if (name === undefined || found[slot * 2] !== -1 || !isName(name, bytes, quote, nameEnd)) continue
    found[slot * 2] = from
    found[slot * 2 + 1] = to
    return satisfies[slot] ?? 0
  }
  return 0
}

function isName(name: Buffer, bytes: Buffer, quote: number, end: number): boolean {
  if (end - quote - 2 === name.length) {
    let at = 0
    while (at < name.length && bytes[quote + 1 + at] === name[at]) at++
    if (at === name.length) return true
  }
  // A name with escapes is longer than its decoded text.
  if (end - quote - 2 <= name.length || !hasEscape(bytes, quote, end)) return false
  return valueIn(bytes, quote, end)?.value === name.toString()
}

/** Returns the paths under which a field may be found in a row. */
export function fieldPaths(field: string, source: Source): readonly (readonly string[])[] {
  const nested = source.engine === 'database' && source.nested ? splitNestedName(field) : undefined
  const dotted = field.split('.')
  return [[field], ...(dotted.length > 1 ? [dotted] : []), ...(nested ? [nested] : [])]
}

/** Returns the value between two positions; `undefined` for null, as for a missing value. */
export function decodeValue(bytes: Buffer, from: number, to: number): unknown {
  if (bytes[from] === QUOTE && !hasEscape(bytes, from, to)) return bytes.toString('utf8', from + 1, to - 1)
  return wholeNumberAt(bytes, from, to) ?? valueIn(bytes, from, to)?.value ?? undefined
}

function hasEscape(bytes: Buffer, from: number, to: number): boolean {
  for (let at = from; at < to; at++) if (bytes[at] === BACKSLASH) return true
  return false
}

/** Returns a number of at most 15 digits, which is exact in a double; `undefined` for everything else. */
function wholeNumberAt(bytes: Buffer, from: number, to: number): number | undefined {
  if (to - from > 15) return undefined
  let number = 0
  for (let at = from; at < to; at++) {
    const digit = (bytes[at] ?? 0) - 0x30
    if (digit < 0 || digit > 9) return undefined
    number = number * 10 + digit
  }
  return number
}
