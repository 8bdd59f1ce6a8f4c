/** The envelope of the manager's responses, and what a response or an error of the nodes means for cache and audit. */
import { isUtf8 } from 'node:buffer'
import { type ByteRange, FAILED_NODES } from './envelope-members.ts'
import { scanEnvelope } from './envelope-scan.ts'
import { parseInTurns } from './json-parse.ts'
import { OPEN, skipSpace, valueIn } from './json-scan.ts'
import { digestInTurns } from './long-values.ts'
import type { EdgeResponse, EnvelopeResponse, Origin, ReadResponse, RowRanges } from './response.ts'
import type { StoredRead } from './stored-response.ts'
import { type CooperativeTask, runTask } from './turns.ts'

/** The error number of an envelope, or why the bytes are not one. */
export type Envelope =
  | {
      readonly ok: true
      readonly error: number
      readonly rows?: RowRanges
      /** Whether it says that rows of failed nodes are missing. */
      readonly namesFailedNodes: boolean
    }
  | { readonly ok: false; readonly reason: string }

/**
 * Checks that the bytes are one complete response of a manager: a JSON object with `error` and `data` or `message`.
 * Truncated responses, HTML pages, other encodings, trailing bytes, values that are nested too deeply and members of which
 * readers might take one or the other are invalid. A long response is checked in several turns of the event loop.
 * `rowsName`: the list in `data` whose rows are found.
 */
export function* readEnvelope(bytes: Buffer, rowsName?: string): CooperativeTask<Envelope> {
  if (!isUtf8(bytes)) return invalid('not UTF-8')
  const found = yield* scanEnvelope(bytes, rowsName)
  if (found === undefined) return invalid('not JSON')
  const { members, dataMembers, doubled, rows } = found
  if (bytes[skipSpace(bytes, 0)] !== OPEN) return invalid('not an object')
  if (doubled !== undefined) return invalid(`the member ${doubled} twice`)
  const { from = 0, to = 0 } = members.get('error') ?? {}
  const error = to - from > MAX_NUMBER_BYTES ? undefined : parseErrorNumber(valueIn(bytes, from, to)?.value)
  if (error === undefined) return invalid('no error number')
  if (!members.has('data') && !members.has('message')) return invalid('neither data nor message')
  const totalRange = dataMembers.get('totalItems')
  const total = totalRange && countAt(bytes, totalRange)
  if (totalRange !== undefined && total === undefined) return invalid('the total is no number of items')
  const namesFailedNodes = dataMembers.has(FAILED_NODES)
  return { ok: true, error, ...(rows && { rows: { total, ...rows } }), namesFailedNodes }
}

/** Runs `readEnvelope`. A promise: it takes more than this turn. */
export function readEnvelopeInTurns(bytes: Buffer, rowsName?: string): Envelope | Promise<Envelope> {
  return runTask(readEnvelope(bytes, rowsName))
}

/** A list of `data` with one page of rows, in the bytes of a response. */
export interface ListedRows {
  readonly rows: Omit<RowRanges, 'total'>
  /** The number of rows on all pages, and where it is. */
  readonly total: number
  readonly totalAt: ByteRange
}

/** Finds a list and the number of its rows, by their names, in a body that was checked when it came in. */
export async function findListInTurns(
  bytes: Buffer,
  rowsName: string,
  totalName: string,
): Promise<ListedRows | undefined> {
  const found = await runTask(scanEnvelope(bytes, rowsName))
  const totalAt = found?.dataMembers.get(totalName)
  const total = totalAt && countAt(bytes, totalAt)
  if (found?.rows === undefined || totalAt === undefined || total === undefined) return undefined
  return { rows: found.rows, total, totalAt }
}

/** An error number, or a total, is shorter. */
const MAX_NUMBER_BYTES = 64

function countAt(bytes: Buffer, { from, to }: ByteRange): number | undefined {
  const value = to - from > MAX_NUMBER_BYTES ? undefined : valueIn(bytes, from, to)?.value
  return Number.isSafeInteger(value) && Number(value) >= 0 ? Number(value) : undefined
}

function invalid(reason: string): Envelope {
  return { ok: false, reason }
}

/** The manager sends this text where it has no number for a value of the wrong format; its next release sends 623. */
const UNDEFINED_ERROR = { text: 'Undefined error.', code: 623 } as const

/** Parses the field `error`: a number, a text of digits (607 comes so), or `Undefined error.`. */
function parseErrorNumber(error: unknown): number | undefined {
  if (error === UNDEFINED_ERROR.text) return UNDEFINED_ERROR.code
  if (typeof error === 'string') return /^[0-9]{1,6}$/.test(error) ? Number(error) : undefined
  return Number.isSafeInteger(error) && (error as number) >= 0 ? (error as number) : undefined
}

/** The manager's number for an error without a number. */
export const UNKNOWN_ERROR = 1000

/** Returns the error number of a response; 0: success, also of a file. */
export function errorNumberOf(response: ReadResponse | StoredRead): number {
  return 'errorNumber' in response ? response.errorNumber : 0
}

interface EnvelopeContents {
  readonly error: number
  readonly message?: string
  readonly data?: unknown
}

export function envelopeOf<From extends Origin>(
  contents: EnvelopeContents,
  origin: From,
  status = 200,
): EnvelopeResponse<From> {
  const body = Buffer.from(JSON.stringify(contents))
  return { kind: 'envelope', status, body, errorNumber: contents.error, origin }
}

/** Parses a response whose envelope was checked when it came in. */
export function parseEnvelope(response: EdgeResponse): EnvelopeContents {
  return response.kind === 'file' ? { error: 0 } : contentsOf(JSON.parse(response.body.toString()))
}

/** The same of a body, in turns of the event loop. */
export async function parseBodyInTurns(body: Buffer): Promise<EnvelopeContents> {
  return contentsOf((await parseInTurns(body)) as Readonly<Record<string, unknown>>)
}

function contentsOf({ error, message, data }: Readonly<Record<string, unknown>>): EnvelopeContents {
  return {
    error: parseErrorNumber(error) ?? UNKNOWN_ERROR,
    ...(typeof message === 'string' && { message }),
    ...(data !== undefined && { data }),
  }
}

export function dataOf(response: EdgeResponse): unknown {
  const { error, data } = parseEnvelope(response)
  return error === 0 ? data : undefined
}

/** Returns a strong entity tag (RFC 9110 section 8.8.3), the same for the same bytes on every replica. */
export function etagOf(body: Buffer): string | Promise<string> {
  const digest = digestInTurns(body, 'base64url')
  return digest instanceof Promise ? digest.then(tagOfDigest) : tagOfDigest(digest)
}

function tagOfDigest(digest: string): string {
  return `"${digest.slice(0, 27)}"`
}
