/**
 * Writes a page by splicing rows from the bytes of the responses. Consecutive rows of one response that need no change
 * are copied as one chunk.
 */

import { parseInTurns } from '../core/json-parse.ts'
import { CLOSE, OPEN, skipSpace } from '../core/json-scan.ts'
import { jsonInTurns } from '../core/long-values.ts'
import { isObject } from '../core/values.ts'
import { createMemberScanner, type MemberScanner, scanObject } from './member-scanner.ts'
import { UnreadableRowsError } from './rows.ts'
import { flattenRow, nestRow } from './select.ts'
import { createFieldReader, parseRow, readerOf } from './sort-keys.ts'
import { type LongRow, ofInput, type RowRef } from './sorted-rows.ts'
import type { Source } from './sources.ts'
import type { Row } from './value.ts'

interface InjectedMember {
  readonly name: string
  readonly value: string
}

/** Members that are added to each row: `first` in front of those that it has, `last` behind. Those are not changed. */
export interface InjectedMembers {
  readonly first?: InjectedMember
  readonly last?: InjectedMember
  /** Only rows whose field has this text are changed. */
  readonly where?: { readonly field: string; readonly is: string }
}

interface PageWriter {
  add(row: RowRef, input: number): void
  /** Returns the text between `[` and `]`, with commas. */
  end(): readonly Buffer[]
}

/** Consecutive rows of one response. */
interface Run {
  readonly first: RowRef
  to: number
  index: number
}

const COMMA = Buffer.from(',')
/** Chunks that are joined to one: all rows of a collection have hundreds of thousands, each of which is an object. */
const JOINED_CHUNKS = 1000
const CLOSING_BRACE = Buffer.from('}')

/** `drop` names fields that are removed from each row. */
export function createPageWriter(
  inputs: readonly { readonly inject?: InjectedMembers }[],
  source: Source,
  drop: readonly string[] = [],
): PageWriter {
  const chunks: Buffer[] = []
  /** The latest chunks. */
  let latest: Buffer[] = []
  const injectors = inputs.map(({ inject }) => inject && createInjector(inject, source))
  let run: Run | undefined
  return { add, end }

  function add(row: RowRef, input: number): void {
    const inject = injectors[input]
    if (inject === undefined && drop.length === 0) {
      extendRun(row)
      return
    }
    flush()
    try {
      const bytes = row.long?.bytes ?? textOf(row, drop, source)
      write(...(inject ? inject(bytes, row.long?.element) : [bytes]))
    } catch (error) {
      throw ofInput(input, error)
    }
  }

  function extendRun(row: RowRef): void {
    if (run && run.first.page === row.page && row.index === run.index + 1) {
      run.to = row.to
      run.index = row.index
      return
    }
    flush()
    run = { first: row, to: row.to, index: row.index }
  }

  function flush(): void {
    if (run) write(run.first.page.bytes.subarray(run.first.from, run.to))
    run = undefined
  }

  function write(...some: Buffer[]): void {
    if (chunks.length + latest.length > 0) latest.push(COMMA)
    latest.push(...some)
    if (latest.length < JOINED_CHUNKS) return
    chunks.push(Buffer.concat(latest))
    latest = []
  }

  function end(): readonly Buffer[] {
    flush()
    chunks.push(...latest)
    return chunks
  }
}

interface NewMember {
  readonly scanner: MemberScanner
  readonly name: string
  /** The name with its closing quote, for a quick search. */
  readonly quotedName: string
  readonly text: string
}

/** Returns the bytes of a row with the members. `element`: the value of a long row. */
type Inject = (row: Buffer, element?: unknown) => Buffer[]

function createInjector(inject: InjectedMembers, source: Source): Inject {
  const first = inject.first && createMember(inject.first)
  const last = inject.last && createMember(inject.last)
  const matches = inject.where && createCondition(inject.where, source)
  return (row, element) => {
    if (row[0] !== OPEN) throw new UnreadableRowsError('a row is not an object')
    if (matches?.(row, element) === false) return [row]
    return addMembers(row, missingMember(first, row, element), missingMember(last, row, element))
  }
}

function createCondition(
  { field, is }: { field: string; is: string },
  source: Source,
): (row: Buffer, element: unknown) => boolean {
  const fields = createFieldReader([field], source)
  const read = readerOf(field, source)
  // A native search comes first. It leaves out the opening quote, at which it would stop too often.
  const ending = Buffer.from(JSON.stringify(is).slice(1))
  return (row, element) => {
    if (isObject(element)) return read(element) === is
    if (!row.includes(ending)) return false
    fields.scan(row, 0)
    return fields.readValue(row, 0) === is
  }
}

function createMember({ name, value }: InjectedMember): NewMember {
  const text = `${JSON.stringify(name)}:${JSON.stringify(value)}`
  return { scanner: createMemberScanner([[name]]), name, quotedName: `${name}"`, text }
}

/** Returns an empty text if the row has the member. */
function missingMember(member: NewMember | undefined, row: Buffer, element: unknown): string {
  if (member === undefined) return ''
  const { scanner, name, quotedName, text } = member
  if (isObject(element)) return Object.hasOwn(element, name) ? '' : text
  if (!row.includes(quotedName)) return text
  scanObject(scanner, row, 0)
  return (scanner.found[0] ?? -1) >= 0 ? '' : text
}

function addMembers(row: Buffer, first: string, last: string): Buffer[] {
  const from = skipSpace(row, 1)
  const isEmpty = row[from] === CLOSE
  const start = Buffer.from(`{${first}${first !== '' && !(isEmpty && last === '') ? ',' : ''}`)
  if (isEmpty) return [start, Buffer.from(last), CLOSING_BRACE]
  if (last === '') return [start, row.subarray(from)]
  return [start, row.subarray(from, -1), Buffer.from(`,${last}}`)]
}

/** Returns the text of a row without some fields. */
function textOf({ page, from, to }: RowRef, drop: readonly string[], source: Source): Buffer {
  if (drop.length === 0) return page.bytes.subarray(from, to)
  return Buffer.from(JSON.stringify(dropFields(parseRow(page.bytes, from, to), drop, source)))
}

/** As a row is read that is too long to be scanned at once. */
export async function readLongRow(row: Buffer, drop: readonly string[], source: Source): Promise<LongRow> {
  const element = await parseInTurns(row)
  return { element, bytes: drop.length === 0 ? row : await jsonInTurns(dropFields(element, drop, source)) }
}

/** Removing a field may also remove the object that holds it. */
function dropFields(row: unknown, drop: readonly string[], source: Source): Row {
  if (!isObject(row)) throw new UnreadableRowsError('a row is not an object')
  const isNested = source.engine === 'database' && source.nested === true
  const flat = isNested ? flattenRow(row) : row
  const remaining = Object.fromEntries(Object.entries(flat).filter(([name]) => !drop.includes(name)))
  return isNested ? nestRow(remaining) : remaining
}
