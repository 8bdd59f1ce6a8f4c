import { isUtf8 } from 'node:buffer'
import { createHash } from 'node:crypto'
import { EdgeError } from './errors.ts'
import { COLON, skipSpace } from './json-scan.ts'
import type { EdgeResponse } from './response.ts'

/** What the envelope of an answer says, or why the bytes are none. */
export type Envelope = { readonly ok: true; readonly error: number } | { readonly ok: false; readonly reason: string }

/** The real API's words where it lacks a code for a wrong format; its next release answers 623 (contract/errors.yaml). */
const UNDEFINED = { text: 'Undefined error.', code: 623 } as const

/**
 * Checks that the bytes are one whole answer of a manager: a JSON object with `error` and `data` or `message`.
 * Cut answers, pages of HTML, text in another encoding and anything behind the object are refused with a reason.
 */
export function readEnvelope(bytes: Buffer): Envelope {
  if (!isUtf8(bytes)) return refused('not UTF-8')
  const value = parse(bytes.toString())
  if (value === undefined) return refused('not JSON')
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return refused('not an object')
  const error = errorNumber(Object.hasOwn(value, 'error') ? (value as { error: unknown }).error : undefined)
  if (error === undefined) return refused('no error number')
  if (!Object.hasOwn(value, 'data') && !Object.hasOwn(value, 'message')) return refused('neither data nor message')
  return { ok: true, error }
}

/** Never `undefined` for JSON, since JSON has no such value. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** 607 comes as a text of digits, one error as words; both are answers all the same. `undefined`: it is no error of a manager. */
export function errorNumber(error: unknown): number | undefined {
  if (error === UNDEFINED.text) return UNDEFINED.code
  if (typeof error === 'string') return /^[0-9]{1,6}$/.test(error) ? Number(error) : undefined
  return Number.isSafeInteger(error) && (error as number) >= 0 ? (error as number) : undefined
}

function refused(reason: string): Envelope {
  return { ok: false, reason }
}

/** What an answer says: for the few who must look inside one. */

export interface EnvelopeContents {
  readonly error: number
  readonly message?: string
  readonly data?: unknown
}

/** Nodes write the envelope compact and `error` first, so most answers need not be parsed to be known as good. */
const GOOD = Buffer.from('{"error":0,"data":')
const NAME = Buffer.from('"error"')
/** The framework's own for what it cannot name (contract/errors.yaml). */
const UNNAMED = 1000

/** The number of an answer's error; 0: it is good. */
export function errorNumberOf(answer: EdgeResponse): number {
  if (answer.kind !== 'json' || isPlainlyGood(answer.body)) return 0
  return parseEnvelope(answer).error
}

function isPlainlyGood(bytes: Buffer): boolean {
  return bytes.subarray(0, GOOD.length).equals(GOOD) && !namesAnError(bytes, GOOD.length)
}

/** Of a name that comes twice, clients take the last. As a value it is no more than the level of a log. */
function namesAnError(bytes: Buffer, from: number): boolean {
  for (let at = bytes.indexOf(NAME, from); at >= 0; at = bytes.indexOf(NAME, at + NAME.length)) {
    if (bytes[skipSpace(bytes, at + NAME.length)] === COLON) return true
  }
  return false
}

/** The envelope was checked when it came. */
export function parseEnvelope(answer: EdgeResponse): EnvelopeContents {
  if (answer.kind !== 'json') return { error: 0 }
  const { error, message, data } = JSON.parse(answer.body.toString()) as Readonly<Record<string, unknown>>
  return {
    error: errorNumber(error) ?? UNNAMED,
    ...(typeof message === 'string' && { message }),
    ...(data !== undefined && { data }),
  }
}

/** What an answer or a failure of the nodes means to the cache. */

/** An answer that was read whole. */
export type Whole = Extract<EdgeResponse, { kind: 'json' }>

/** The framework's codes that another moment may answer otherwise (contract/errors.yaml, kind transient). */
export const TRANSIENT: ReadonlySet<number> = new Set([
  1010, 1011, 1013, 1014, 1017, 1118, 1601, 1652, 1702, 1713, 1714, 1715, 1901, 1902, 2002, 2005, 3000, 3009, 3012,
  3016, 3018, 3020, 3021, 3023,
])

/** The framework gave up waiting, and the work goes on behind it (contract/errors.yaml): 1 is its limit of 240 s. */
const UNFINISHED: ReadonlySet<number> = new Set([1, 3000, 3009, 3020, 3021])

/** No node could be asked, or what it answered cannot be used. */
const NODE_FAILED: ReadonlySet<number> = new Set([920, 921, 922, 923, 924, 925, 926])

/** Faults that leave it open whether a write was carried out: it was sent, and no readable answer came. */
const OUTCOME_UNKNOWN: ReadonlySet<number> = new Set([923, 925, 926, 928, 933, 949])

const PARTIAL = '"failed_nodes"'

/** May the answer be kept? Whole, without an error, from all nodes that were asked, nothing of it stale, to nobody in particular. */
export function isStorable(answer: EdgeResponse): answer is Whole {
  if (answer.kind !== 'json' || answer.status !== 200 || answer.headers !== undefined) return false
  if (answer.partial || answer.personal) return false
  return errorNumberOf(answer) === 0 && !answer.body.includes(PARTIAL)
}

/** Would another moment answer otherwise? Then a stale answer, where it is allowed, is the better one. */
export function isTransient(answer: EdgeResponse): boolean {
  return TRANSIENT.has(errorNumberOf(answer))
}

export function isNodeFailure(fault: unknown): boolean {
  return fault instanceof EdgeError && NODE_FAILED.has(fault.code)
}

/** May the write have been carried out although no success was heard of? Whatever nobody foresaw counts as that. */
export function isOutcomeUnknown(fault: unknown): boolean {
  return !(fault instanceof EdgeError) || OUTCOME_UNKNOWN.has(fault.code)
}

/** Some nodes have carried it out, and it is known which: what it touched has changed. */
export function isPartlyDone(fault: unknown): boolean {
  return fault instanceof EdgeError && fault.code === 932
}

export function isUnfinished(answer: EdgeResponse): boolean {
  if (answer.kind === 'json' && answer.outcomeUnknown) return true
  return UNFINISHED.has(errorNumberOf(answer))
}

/** `data` of a successful answer. */
export function dataOf(answer: EdgeResponse): unknown {
  const { error, data } = parseEnvelope(answer)
  return error === 0 ? data : undefined
}

/** Strong, and the same for the same bytes on every replica (RFC 9110 section 8.8.3). */
export function etagOf(bytes: Buffer): string {
  return `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 27)}"`
}
