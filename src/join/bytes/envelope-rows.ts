import {
  backOverSpace,
  CLOSE,
  CLOSE_LIST,
  COLON,
  COMMA,
  endOfCheckedValue,
  endOfText,
  OPEN,
  OPEN_LIST,
  QUOTE,
  skipSpace,
  valueIn,
} from '../../core/json-scan.ts'

/**
 * Finds where the rows of one node's answer lie, and how many the node says there are, without parsing them.
 *
 * The head is read forward to the rows. Where the tail then looks as it always does – `]}}`, or `],"totalItems":N}}` –
 * and no bracket in between could be the end of the rows, nothing else is read: one native search instead of a walk.
 * Else the whole body is walked. A body that is cut off has neither tail nor end and is refused. What stands inside
 * the rows is looked at when they are read (rows.ts).
 *
 * The short way takes the rows to be of one kind. Rows of several kinds, followed by further members that again look
 * like the tail, are found out when they are read to their end (`isEnd`).
 */

/** The rows of one answer: values with commas between, from `from` up to `to`. */
export interface RowsPart {
  readonly bytes: Buffer
  readonly from: number
  readonly to: number
  /** How many rows the node has, on all of its pages. */
  readonly total: number
  /** As many must be here; absent: that is not known. */
  readonly count?: number
}

export type ReadPart = { readonly ok: true; readonly part: RowsPart } | { readonly ok: false; readonly reason: string }

const TAIL =
  /\][ \t\r\n]*(?:,[ \t\r\n]*"totalItems"[ \t\r\n]*:[ \t\r\n]*(0|[1-9][0-9]{0,14})[ \t\r\n]*)?\}[ \t\r\n]*\}[ \t\r\n]*$/
const LONGEST_TAIL = 96
/** Looking at single brackets is worth while only as long as they are few. */
const BYTES_FOR_A_BRACKET = 48

/** The rows of `{"error":0,"data":{"items":[…],"totalItems":N}}`, in whatever order the members stand. */
export function readPart(bytes: Buffer): ReadPart {
  return readShort(bytes) ?? readWhole(bytes)
}

/** Reads as far as the rows' opening bracket, and then the tail; undefined where that is not certain. */
function readShort(bytes: Buffer): ReadPart | undefined {
  const data = membersUntil(bytes, skipSpace(bytes, 0), 'data')
  if (data === undefined || !isZero(bytes, data.before.get('error'))) return undefined
  const items = membersUntil(bytes, data.at, 'items')
  if (items === undefined || bytes[items.at] !== OPEN_LIST) return undefined
  const tailFrom = Math.max(items.at, bytes.length - LONGEST_TAIL)
  const tail = TAIL.exec(bytes.toString('latin1', tailFrom))
  if (tail === null) return undefined
  const to = tailFrom + tail.index
  const total = tail[1] === undefined ? wholeNumber(bytes, items.before.get('totalItems')) : Number(tail[1])
  if (total === undefined || !isFirstEnd(bytes, items.at + 1, to)) return undefined
  return { ok: true, part: { bytes, from: items.at + 1, to, total } }
}

/**
 * Whether no bracket before `to` can close the rows. Rows that are objects end with `}` and then `]`, texts with `"`
 * and then `]`: a bracket behind anything else lies inside a row or a text.
 */
function isFirstEnd(bytes: Buffer, from: number, to: number): boolean {
  const first = skipSpace(bytes, from)
  if (first === to) return true
  const ends = bytes[first] === OPEN ? CLOSE : bytes[first] === QUOTE ? QUOTE : undefined
  if (ends === undefined) return false
  let budget = (to - from) / BYTES_FOR_A_BRACKET + 8
  for (let at = bytes.indexOf(CLOSE_LIST, from); at < to; at = bytes.indexOf(CLOSE_LIST, at + 1)) {
    if (bytes[backOverSpace(bytes, at)] === ends || --budget < 0) return false
  }
  return true
}

/** Whether a walk over the whole body says that the rows end at `at`, and as many are there as the part says. */
export function isEnd({ bytes, from, total }: RowsPart, at: number): boolean {
  const read = readWhole(bytes)
  return read.ok && read.part.from === from && read.part.to === at && read.part.total === total
}

function readWhole(bytes: Buffer): ReadPart {
  const data = { named: new Map<string, Member>(), end: 0 }
  const root = readMembers(bytes, skipSpace(bytes, 0), data)
  if (root === undefined || skipSpace(bytes, root.end) !== bytes.length) return refused('cut off or no JSON')
  if (!isZero(bytes, root.named.get('error'))) return refused('error is not 0')
  const items = data.named.get('items')
  const total = wholeNumber(bytes, data.named.get('totalItems'))
  if (items !== undefined && total !== undefined && bytes[items.from] === OPEN_LIST) {
    return { ok: true, part: { bytes, from: items.from + 1, to: items.to - 1, total } }
  }
  return refused('no items with their total')
}

function refused(reason: string): ReadPart {
  return { ok: false, reason }
}

/** The members of an answer's objects by their places, read strictly, but for what stands inside their values. */

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
