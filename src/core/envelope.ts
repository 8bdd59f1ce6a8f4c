/** The envelope of the manager's responses, and what a response or an error of the nodes means for cache and audit. */

import { isUtf8 } from 'node:buffer'
import { type ByteRange, type EnvelopeMembers, FAILED_NODES } from './envelope-members.ts'
import { scanInTurns } from './envelope-scan.ts'
import { EdgeError } from './errors.ts'
import { parseInTurns } from './json-parse.ts'
import { OPEN, skipSpace, valueIn } from './json-scan.ts'
import { digestInTurns } from './long-values.ts'
import { AbandonedError } from './presence.ts'
import type { EdgeResponse, EnvelopeResponse, Origin, ReadResponse, RowRanges } from './response.ts'
import type { StoredRead } from './stored-response.ts'

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
export async function readEnvelopeInTurns(bytes: Buffer, rowsName?: string): Promise<Envelope> {
  return isUtf8(bytes) ? resultOf(await scanInTurns(bytes, rowsName), bytes) : invalid('not UTF-8')
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
  const found = await scanInTurns(bytes, rowsName)
  const totalAt = found?.dataMembers.get(totalName)
  const total = totalAt && countAt(bytes, totalAt)
  if (found?.rows === undefined || totalAt === undefined || total === undefined) return undefined
  return { rows: found.rows, total, totalAt }
}

function resultOf(found: EnvelopeMembers | undefined, bytes: Buffer): Envelope {
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
  return { ok: true, error, ...(rows && { rows: { ...rows, total } }), namesFailedNodes }
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
  return response.kind === 'file' ? { error: 0 } : parseBody(response.body)
}

/** Parses a body whose envelope was checked when it came in. */
export function parseBody(body: Buffer): EnvelopeContents {
  return contentsOf(JSON.parse(body.toString()))
}

/** As `parseBody`, in turns of the event loop. */
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

/** The edge did not send the call, because too many were in flight: no failure of the node. */
export const OVERLOADED = 921
/** The call of a node took too long. */
export const CALL_TIMED_OUT = 922
/** No node is known to which an agent reports. */
export const OWNER_UNKNOWN = 931

/**
 * Errors for which a stored response is served stale. 920 to 926: the edge gets no usable response of a node. 927: the node
 * refuses the account of the edge, which no client can change. The others: a node that answers reports that the node with
 * the data failed or took too long, that the cluster between them did, or that the node is not connected (3022; a node that
 * never existed has no stored response). All other errors are the state of a node that answers, and clients act on it
 * (`NOT_READY_ERRORS`).
 */
const NODE_FAILURES: ReadonlySet<number> = new Set([
  920, 921, 922, 923, 924, 925, 926, 927, 3000, 3009, 3012, 3016, 3018, 3020, 3021, 3022, 3023,
])

/** Returns why the nodes have failed; `undefined`: this error is none of theirs. */
export function nodeFailureOf(fault: unknown): number | undefined {
  if (!(fault instanceof EdgeError)) return undefined
  const isOfMaster = fault.code === OWNER_UNKNOWN && isNodeFailure(fault.cause)
  return isOfMaster || NODE_FAILURES.has(fault.code) ? fault.code : undefined
}

/**
 * Those by which no node that could answer does: the edge reaches none, the master does not say to which one an agent reports
 * (931), or the asked one reaches no other one. A timeout (922) and the limit of 10 s (3021) show that of one call only.
 */
const OUTAGE_FAILURES: ReadonlySet<number> = new Set([
  920,
  924,
  OWNER_UNKNOWN,
  3000,
  3009,
  3012,
  3016,
  3018,
  3020,
  3022,
  3023,
])

export function isOutageFailure(error: number): boolean {
  return OUTAGE_FAILURES.has(error)
}

/** The node answers, but its daemons are not ready yet. Clients wait until these errors end. */
const NOT_READY_ERRORS: ReadonlySet<number> = new Set([1013, 1014, 1017, 1018, 1019])

export function isNotReadyError(error: number): boolean {
  return NOT_READY_ERRORS.has(error)
}

/** The framework stopped waiting while the work goes on; 1 is its limit of 240 s. */
const UNFINISHED_ERRORS: ReadonlySet<number> = new Set([1, 3000, 3009, 3020, 3021])

/** Whether the work that failed with this error may still be in progress. */
export function isUnfinishedError(error: number): boolean {
  return UNFINISHED_ERRORS.has(error)
}

/** The write was sent. It may have been carried out, or Redis has not confirmed it (943, 944). */
const UNKNOWN_OUTCOMES: ReadonlySet<number> = new Set([923, 925, 926, 928, 933, 941, 943, 944, 949])

/**
 * Returns the error of a response by which a node reports a failed node, so that a stale response is better, where one may
 * be served; `undefined` for all others.
 */
export function reportedNodeFailure(response: ReadResponse): number | undefined {
  const error = errorNumberOf(response)
  return NODE_FAILURES.has(error) ? error : undefined
}

/** Whether a response with this error is worse than a stale one. */
export function isNodeFailureError(error: number): boolean {
  return NODE_FAILURES.has(error)
}

export function isNodeFailure(fault: unknown): fault is EdgeError {
  // A call that was abandoned shows nothing about its node.
  return fault instanceof EdgeError && NODE_FAILURES.has(fault.code) && !(fault instanceof AbandonedError)
}

/** Whether a write that failed this way may have been carried out. An unexpected error counts as such. */
export function isOutcomeUnknown(fault: unknown): boolean {
  return !(fault instanceof EdgeError) || UNKNOWN_OUTCOMES.has(fault.code)
}

/** Whether some nodes are known to have carried the write out. */
export function isPartlyDone(fault: unknown): boolean {
  return fault instanceof EdgeError && fault.code === 932
}

/** Whether the write of this response may still be in progress on a node. */
export function isUnfinished(response: EdgeResponse): boolean {
  if (response.kind === 'file') return false
  const { origin, errorNumber } = response
  return UNFINISHED_ERRORS.has(errorNumber) || ('isUnfinished' in origin && origin.isUnfinished)
}

/** Returns a strong entity tag (RFC 9110 section 8.8.3), the same for the same bytes on every replica. */
export async function etagOf(body: Buffer): Promise<string> {
  return `"${(await digestInTurns(body, 'base64url')).slice(0, 27)}"`
}
