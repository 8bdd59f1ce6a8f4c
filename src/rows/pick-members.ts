/** Selects members of rows in their bytes: values, spaces and the order of names stay as the node wrote them. */
import { CLOSE, COMMA, endOfText, endOfValue, OPEN, skipSpace } from '../core/json-scan.ts'

/** `names` are those of members, dotted ones of members in nested objects. `between`: the text between two members. */
export function pickMembers(row: Buffer, names: ReadonlySet<string>, between: Buffer): Buffer {
  return row[0] === OPEN ? pickWithin(row, 0, { names, between }, '') : row
}

interface Picking {
  readonly names: ReadonlySet<string>
  readonly between: Buffer
}

/** `at`: the opening bracket. `path`: the names in front, with dots behind them. */
function pickWithin(row: Buffer, at: number, picking: Picking, path: string): Buffer {
  const picked: Buffer[] = []
  let place = skipSpace(row, at + 1)
  while (row[place] !== CLOSE && place < row.length) {
    const nameEnd = endOfText(row, place)
    const valueAt = skipSpace(row, skipSpace(row, nameEnd) + 1)
    const end = endOfValue(row, valueAt)
    const name = path + (JSON.parse(row.toString('utf8', place, nameEnd)) as string)
    const member = pickMember(row, { from: place, valueAt, end }, name, picking)
    if (member !== undefined) picked.push(...(picked.length > 0 ? [picking.between] : []), ...member)
    place = skipSpace(row, end)
    if (row[place] === COMMA) place = skipSpace(row, place + 1)
  }
  return Buffer.concat([OPENING, ...picked, CLOSING])
}

function pickMember(
  row: Buffer,
  { from, valueAt, end }: { readonly from: number; readonly valueAt: number; readonly end: number },
  name: string,
  picking: Picking,
): readonly Buffer[] | undefined {
  if (picking.names.has(name)) return [row.subarray(from, end)]
  const isOuter = row[valueAt] === OPEN && [...picking.names].some((each) => each.startsWith(`${name}.`))
  if (!isOuter) return undefined
  const inner = pickWithin(row, valueAt, picking, `${name}.`)
  return inner.length > EMPTY_LENGTH ? [row.subarray(from, valueAt), inner] : undefined
}

const OPENING = Buffer.from('{')
const CLOSING = Buffer.from('}')
const EMPTY_LENGTH = 2
