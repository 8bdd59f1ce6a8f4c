/** The members of an answer's objects by their places, read strictly, but for what stands inside their values. */
import {
  CLOSE,
  COLON,
  COMMA,
  endOfCheckedValue,
  endOfText,
  OPEN,
  QUOTE,
  skipSpace,
  valueIn,
} from '../../core/json-scan.ts'

export interface Member {
  readonly from: number
  readonly to: number
}

/** Members by name (of equal names the last counts, as in JSON.parse), and where the object ends. */
export interface Members {
  readonly named: Map<string, Member>
  end: number
}

/** The members before the named one, and where its value begins. */
export function membersUntil(
  bytes: Buffer,
  from: number,
  name: string,
): { readonly before: Map<string, Member>; readonly at: number } | undefined {
  if (bytes[from] !== OPEN) return undefined
  const before = new Map<string, Member>()
  let at = skipSpace(bytes, from + 1)
  for (;;) {
    const member = readName(bytes, at)
    if (member === undefined) return undefined
    if (member.name === name) return { before, at: member.at }
    const end = endOfCheckedValue(bytes, member.at)
    before.set(member.name, { from: member.at, to: end })
    const comma = skipSpace(bytes, end)
    if (end < 0 || bytes[comma] !== COMMA) return undefined
    at = skipSpace(bytes, comma + 1)
  }
}

/** All members of the object at `from`; those of its member `data`, if that is an object, go into `inner` in the same walk. */
export function readMembers(bytes: Buffer, from: number, inner?: Members): Members | undefined {
  if (bytes[from] !== OPEN) return undefined
  const named = new Map<string, Member>()
  let at = skipSpace(bytes, from + 1)
  if (bytes[at] === CLOSE) return { named, end: at + 1 }
  for (;;) {
    const member = readName(bytes, at)
    if (member === undefined) return undefined
    const to =
      inner && member.name === 'data' ? endOfData(bytes, member.at, inner) : endOfCheckedValue(bytes, member.at)
    if (to < 0) return undefined
    named.set(member.name, { from: member.at, to })
    at = skipSpace(bytes, to)
    if (bytes[at] === CLOSE) return { named, end: at + 1 }
    if (bytes[at] !== COMMA) return undefined
    at = skipSpace(bytes, at + 1)
  }
}

function endOfData(bytes: Buffer, at: number, inner: Members): number {
  inner.named.clear()
  if (bytes[at] !== OPEN) return endOfCheckedValue(bytes, at)
  const members = readMembers(bytes, at)
  for (const [name, member] of members?.named ?? []) inner.named.set(name, member)
  return members?.end ?? -1
}

function readName(bytes: Buffer, at: number): { readonly name: string; readonly at: number } | undefined {
  if (bytes[at] !== QUOTE) return undefined
  const end = endOfText(bytes, at)
  const name = end < 0 ? undefined : valueIn(bytes, at, end)?.value
  const colon = skipSpace(bytes, end)
  if (typeof name !== 'string' || bytes[colon] !== COLON) return undefined
  return { name, at: skipSpace(bytes, colon + 1) }
}

export function isZero(bytes: Buffer, member: Member | undefined): boolean {
  return member !== undefined && valueIn(bytes, member.from, member.to)?.value === 0
}

export function wholeNumber(bytes: Buffer, member: Member | undefined): number | undefined {
  const value = member && valueIn(bytes, member.from, member.to)?.value
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined
}
