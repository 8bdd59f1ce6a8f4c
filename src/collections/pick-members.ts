/** The members of a row that a request selects. */
import { CLOSE, COMMA, endOfText, endOfValue, OPEN, skipSpace } from '../core/json-scan.ts'

/**
 * Selects members of a row in its bytes: values, spaces and the order of names stay as the node wrote them. `names` are those
 * of members, dotted ones of members in nested objects. `between`: the text between two members. `at`: the opening bracket of
 * an object in the row; `path`: the names in front of its members, with dots behind them.
 */
export function pickMembers(row: Buffer, names: ReadonlySet<string>, between: Buffer, at = 0, path = ''): Buffer {
  if (row[at] !== OPEN) return row
  const picked: Buffer[] = []
  let place = skipSpace(row, at + 1)
  while (row[place] !== CLOSE && place < row.length) {
    const nameEnd = endOfText(row, place)
    const valueAt = skipSpace(row, skipSpace(row, nameEnd) + 1)
    const end = endOfValue(row, valueAt)
    const name = path + (JSON.parse(row.toString('utf8', place, nameEnd)) as string)
    if (names.has(name)) picked.push(row.subarray(place, end))
    else if (row[valueAt] === OPEN && [...names].some((each) => each.startsWith(`${name}.`))) {
      const inner = pickMembers(row, names, between, valueAt, `${name}.`)
      if (inner.length > EMPTY_LENGTH) picked.push(Buffer.concat([row.subarray(place, valueAt), inner]))
    }
    place = skipSpace(row, end)
    if (row[place] === COMMA) place = skipSpace(row, place + 1)
  }
  const members = picked.flatMap((member, index) => (index === 0 ? [member] : [between, member]))
  return Buffer.concat([OPENING, ...members, CLOSING])
}

const OPENING = Buffer.from('{')
const CLOSING = Buffer.from('}')
const EMPTY_LENGTH = 2
