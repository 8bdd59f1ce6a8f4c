import { isUtf8 } from 'node:buffer'

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
