/**
 * The grammar of `q` in the v4 layout. Values may contain brackets, quotes, colons and slashes:
 *
 *     any       = all *( "," all )          ";" binds tighter than ","
 *     all       = term *( ";" term )
 *     term      = "(" any ")" / field operator value
 */
import { V4Error } from './errors.ts'

export interface Condition {
  readonly field: string
  readonly operator: '=' | '!=' | '<' | '>' | '~'
  readonly value: string
}

type Holds<Row> = (row: Row) => boolean

/** More conditions than this make the real database refuse the query. */
const MAX_CONDITIONS = 999

/** Returns the predicate of a text. Throws 1407 for invalid syntax, and what `compile` throws. */
export function compileQuery<Row>(text: string, compile: (condition: Condition) => Holds<Row>): Holds<Row> {
  const reader = new Reader(text)
  const holds = readAny(reader, compile)
  if (reader.rest !== '') throw invalid(text)
  if (reader.conditions > MAX_CONDITIONS) throw new V4Error(2003, 'Expression tree is too large')
  return holds
}

class Reader {
  readonly all: string
  rest: string
  conditions = 0
  constructor(text: string) {
    this.all = text
    this.rest = text
  }

  take(pattern: RegExp): string | undefined {
    const found = pattern.exec(this.rest)?.[0]
    if (found !== undefined) this.rest = this.rest.slice(found.length)
    return found
  }
}

function readAny<Row>(reader: Reader, compile: (condition: Condition) => Holds<Row>): Holds<Row> {
  const parts = [readAll(reader, compile)]
  while (reader.take(/^,/) !== undefined) parts.push(readAll(reader, compile))
  return parts.length === 1 && parts[0] !== undefined ? parts[0] : (row) => parts.some((holds) => holds(row))
}

function readAll<Row>(reader: Reader, compile: (condition: Condition) => Holds<Row>): Holds<Row> {
  const parts = [readTerm(reader, compile)]
  while (reader.take(/^;/) !== undefined) parts.push(readTerm(reader, compile))
  return (row) => parts.every((holds) => holds(row))
}

function readTerm<Row>(reader: Reader, compile: (condition: Condition) => Holds<Row>): Holds<Row> {
  if (reader.take(/^\(/) !== undefined) {
    const inner = readAny(reader, compile)
    if (reader.take(/^\)/) === undefined) throw invalid(reader.all)
    return inner
  }
  const field = reader.take(/^[\w.-]+/)
  const operator = reader.take(/^(?:!=|=|<|>|~)/) as Condition['operator'] | undefined
  // A parenthesis in a value must be closed again.
  const value = reader.take(/^(?:\([^()]*\)|[^;,()])+/)
  if (field === undefined || operator === undefined || value === undefined) throw invalid(reader.all)
  reader.conditions += 1
  return compile({ field, operator, value })
}

function invalid(text: string): V4Error {
  return new V4Error(1407, text)
}
