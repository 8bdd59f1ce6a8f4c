import { CLOSE, OPEN, skipSpace } from '../../core/json-scan.ts'
import { flatten, nest } from '../../query/select.ts'
import type { Source } from '../../query/sources.ts'
import type { Row } from '../../query/value.ts'
import type { Inject, JoinPart } from './join.ts'
import { UnreadableRows } from './rows.ts'
import { createFieldReader, createFinder, type Finder, find, rowAt } from './sort-keys.ts'
import { type Head, reading } from './sorted-rows.ts'

/**
 * The rows of a page as text between `[` and `]`: cut out of the answers' own bytes and set together again. Rows that
 * follow each other unchanged in their answer stay one piece.
 */

export interface Splice {
  add(head: Head, part: number): void
  end(): readonly Buffer[]
}

interface Run {
  readonly head: Head
  to: number
  index: number
}

const COMMA = Buffer.from(',')
const CLOSING = Buffer.from('}')

/** `drop` names fields that no row shall show. */
export function createSplice(parts: readonly JoinPart[], source: Source, drop: readonly string[]): Splice {
  const pieces: Buffer[] = []
  const injectors = parts.map((part) => part.inject && createInjector(part.inject, source))
  let run: Run | undefined
  return { add, end }

  function add(head: Head, part: number): void {
    const inject = injectors[part]
    if (inject === undefined && drop.length === 0) {
      extend(head)
      return
    }
    flush()
    put(...reading(part, () => changed(head, inject)))
  }

  function changed(head: Head, inject: ((row: Buffer) => Buffer[]) | undefined): Buffer[] {
    const row = drop.length > 0 ? without(head, drop, source) : bytesOf(head)
    return inject ? inject(row) : [row]
  }

  function extend(head: Head): void {
    if (run && run.head.page === head.page && head.index === run.index + 1) {
      run.to = head.to
      run.index = head.index
      return
    }
    flush()
    run = { head, to: head.to, index: head.index }
  }

  function flush(): void {
    if (run) put(run.head.page.bytes.subarray(run.head.from, run.to))
    run = undefined
  }

  function put(...some: Buffer[]): void {
    if (pieces.length > 0) pieces.push(COMMA)
    pieces.push(...some)
  }

  function end(): readonly Buffer[] {
    flush()
    return pieces
  }
}

function bytesOf({ page, from, to }: Head): Buffer {
  return page.bytes.subarray(from, to)
}

interface NewMember {
  readonly finder: Finder
  readonly name: string
  readonly text: string
}

/** Puts members into a row, unless it has them or is not the kind of row that they are for. */
function createInjector(inject: Inject, source: Source): (row: Buffer) => Buffer[] {
  const [first, last] = [membersOf(inject.first), membersOf(inject.last)]
  const isMeant = inject.where ? createCondition(inject.where, source) : () => true
  return (row) => {
    if (row[0] !== OPEN) throw new UnreadableRows('a row is no object')
    return isMeant(row) ? around(row, absent(first, row), absent(last, row)) : [row]
  }
}

function createCondition({ field, is }: { field: string; is: string }, source: Source): (row: Buffer) => boolean {
  const fields = createFieldReader([field], source)
  // Searched for natively first, without the quote in front, at which the search would stop too often.
  const ending = Buffer.from(JSON.stringify(is).slice(1))
  return (row) => {
    if (!row.includes(ending)) return false
    fields.read(row, 0)
    return fields.value(row, 0, 0) === is
  }
}

function membersOf(members: Readonly<Record<string, string>> = {}): NewMember[] {
  return Object.entries(members).map(([name, value]) => {
    const text = `${JSON.stringify(name)}:${JSON.stringify(value)}`
    return { finder: createFinder([[name]]), name: `${name}"`, text }
  })
}

/** Those that the row does not have, as text with commas between. */
function absent(members: readonly NewMember[], row: Buffer): string {
  return members
    .filter(({ finder, name }) => {
      if (!row.includes(name)) return true
      find(finder, row, 0)
      return (finder.found[0] ?? -1) < 0
    })
    .map(({ text }) => text)
    .join(',')
}

function around(row: Buffer, first: string, last: string): Buffer[] {
  const from = skipSpace(row, 1)
  const empty = row[from] === CLOSE
  const front = Buffer.from(`{${first}${first !== '' && !(empty && last === '') ? ',' : ''}`)
  if (empty) return [front, Buffer.from(last), CLOSING]
  if (last === '') return [front, row.subarray(from)]
  return [front, row.subarray(from, -1), Buffer.from(`,${last}}`)]
}

/** Such rows must be parsed, since with a field the object that held it may go. */
function without({ page, from, to }: Head, drop: readonly string[], source: Source): Buffer {
  const row = rowAt(page.bytes, from, to)
  if (typeof row !== 'object' || row === null || Array.isArray(row)) throw new UnreadableRows('a row is no object')
  const nested = source.engine === 'database' && source.nested === true
  const flat = nested ? flatten(row as Row) : (row as Row)
  const kept = Object.fromEntries(Object.entries(flat).filter(([name]) => !drop.includes(name)))
  return Buffer.from(JSON.stringify(nested ? nest(kept) : kept))
}
