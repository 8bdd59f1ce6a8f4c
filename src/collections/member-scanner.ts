/** Finds members of an object by their names, in its bytes. */
import { BACKSLASH, COMMA, endOfText, endOfValue, QUOTE, skipSpace, valueIn } from '../core/json-scan.ts'

/** What is searched for; reused from row to row without allocation. */
export interface MemberScanner {
  /** The place of each name in the lists. */
  readonly slots: ReadonlyMap<string, number>
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
  const slots = new Map<string, number>()
  const names: Buffer[] = []
  const satisfies: number[] = []
  for (const [at, alternatives] of fields.entries()) {
    for (const name of alternatives) {
      const slot = slots.get(name) ?? slots.size
      if (slot === slots.size) names.push(Buffer.from(name))
      slots.set(name, slot)
      satisfies[slot] = (satisfies[slot] ?? 0) | (1 << at)
    }
  }
  return { slots, names, satisfies, all: 2 ** fields.length - 1, found: new Int32Array(names.length * 2).fill(-1) }
}

/** Searches the object at `at` until every field is found. */
export function scanObject(scanner: MemberScanner, bytes: Buffer, at: number): void {
  const { found, all } = scanner
  for (let slot = 0; slot < found.length; slot++) found[slot] = -1
  let satisfied = 0
  let position = skipSpace(bytes, at + 1)
  while (bytes[position] === QUOTE && satisfied !== all) {
    const nameEnd = endOfText(bytes, position)
    const from = skipSpace(bytes, skipSpace(bytes, nameEnd) + 1)
    const to = endOfValue(bytes, from)
    satisfied |= recordMember(scanner, bytes, position, nameEnd, from, to)
    position = skipSpace(bytes, to)
    if (bytes[position] === COMMA) position = skipSpace(bytes, position + 1)
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

export function hasEscape(bytes: Buffer, from: number, to: number): boolean {
  for (let at = from; at < to; at++) if (bytes[at] === BACKSLASH) return true
  return false
}
