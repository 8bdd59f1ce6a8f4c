/**
 * Results of reads as assistants get them: pages of whole rows within a budget of tokens, with a cursor, and marked as data.
 * Names of agents, logs and files come from monitored machines, so an attacker may write instructions into them.
 */
import { randomBytes } from 'node:crypto'
import { collectionContracts } from '../../../src/collections/contracts.ts'
import type { Contract } from '../../../src/contracts/endpoint.ts'
import { ownField, parseJson } from '../../../src/core/values.ts'
import type { ReceivedText } from '../../tools/src/commands/edge-client.ts'
import { ArgumentError } from './operations.ts'

/** Characters of JSON per token, at least: counts of tokens differ by model. */
const CHARACTERS_PER_TOKEN = 3

/** Where a result continues. It holds the arguments of a read and grants nothing: the read is checked like any other. */
export interface Cursor {
  readonly operation: string
  readonly parameters: Readonly<Record<string, unknown>>
  /** Characters of the text, or of the first row, that were returned before. */
  readonly skip: number
}

export interface Cut {
  readonly text: string
  /** What the text is: `rows 1 to 40 of 812`. */
  readonly extent: string
  readonly next?: Cursor
}

/** Cuts the body of a response to the budget. `isPaged`: the operation has `offset`. */
export function cut(
  { text, type }: Pick<ReceivedText, 'text' | 'type'>,
  { operation, parameters, skip }: Cursor,
  { contract, isPaged, maxTokens }: { contract: Contract; isPaged: boolean; maxTokens: number },
): Cut {
  const budget = maxTokens * CHARACTERS_PER_TOKEN
  const parsed = /json/.test(type) ? parseJson(text) : undefined
  const page = isPaged ? pageOf(parsed, contract) : undefined
  const whole = safeJson(parsed ?? text)
  const nextOf = (offset: number, from: number): Cursor => ({
    operation,
    parameters: { ...parameters, offset },
    skip: from,
  })
  if (page === undefined || page.rows.length === 0) {
    const part = sliceOf(whole, skip, budget)
    return { ...part, ...(part.end < whole.length && { next: { operation, parameters, skip: part.end } }) }
  }
  const offset = Number(parameters.offset ?? 0)
  const rows = fitting(page.rows, budget)
  const last = offset + rows.length
  const hasMore = last < page.total
  if (rows.length > 0 && skip === 0) {
    const extent = `rows ${offset + 1} to ${last} of ${page.total}`
    return { text: `[${rows.join(',\n')}]`, extent, ...(hasMore && { next: nextOf(last, 0) }) }
  }
  // One row alone is longer than the budget.
  const row = safeJson(page.rows[0])
  const part = sliceOf(row, skip, budget)
  const extent = `${part.extent} of row ${offset + 1} of ${page.total}`
  if (part.end < row.length) return { text: part.text, extent, next: nextOf(offset, part.end) }
  return { text: part.text, extent, ...(offset + 1 < page.total && { next: nextOf(offset + 1, 0) }) }
}

function sliceOf(text: string, from: number, budget: number): { text: string; extent: string; end: number } {
  const end = Math.min(text.length, from + budget)
  const extent = from === 0 && end === text.length ? 'complete' : `characters ${from + 1} to ${end} of ${text.length}`
  return { text: text.slice(from, end), extent, end }
}

function fitting(rows: readonly unknown[], budget: number): readonly string[] {
  const texts: string[] = []
  let used = 2
  for (const row of rows) {
    const text = safeJson(row)
    used += text.length + 2
    if (used > budget) break
    texts.push(text)
  }
  return texts
}

function pageOf(parsed: unknown, contract: Contract): { rows: readonly unknown[]; total: number } | undefined {
  const data = ownField(parsed, 'data')
  const { rowsName, totalName } = collectionContracts[contract]
  const [rows, total] = [ownField(data, rowsName), ownField(data, totalName)]
  return Array.isArray(rows) && typeof total === 'number' ? { rows, total } : undefined
}

/**
 * JSON in which no text can look like the end of the data, or hide from a reader: angle brackets, control characters, characters
 * without width and those that change the direction of writing are escaped.
 */
export function safeJson(value: unknown): string {
  return JSON.stringify(value ?? null).replaceAll(
    /[<>\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\ufe00-\ufe0f]|\udb40[\udc00-\udfff]/g,
    (text) =>
      text
        .split('')
        .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
        .join(''),
  )
}

/**
 * Encloses text of `safeJson` in delimiters that it cannot contain. They differ in each result, so that no text can foresee
 * them.
 */
export function markAsData(text: string): string {
  const name = `data-${randomBytes(12).toString('hex')}`
  return `<${name}>\n${text}\n</${name}>`
}

export function encodeCursor(cursor: Cursor): string {
  return Buffer.from(JSON.stringify(cursor)).toString('base64url')
}

export function decodeCursor(text: unknown): Cursor {
  const parsed = typeof text === 'string' ? parseJson(Buffer.from(text, 'base64url').toString()) : undefined
  const { operation, parameters, skip } = (parsed ?? {}) as Partial<Cursor>
  if (
    typeof operation !== 'string' ||
    typeof parameters !== 'object' ||
    parameters === null ||
    !Number.isSafeInteger(skip) ||
    Number(skip) < 0
  )
    throw new ArgumentError('the cursor is not one of a result; pass it unchanged')
  return { operation, parameters, skip: Number(skip) }
}
