/** Errors of the classic layout: code, text and HTTP status. */
import { classicTexts } from '../../../catalogue/classic-texts.ts'
import { type ErrorCode, errorTable } from '../../../core/errors.ts'
import { ownEntry } from '../../../core/values.ts'

export interface ClassicError {
  readonly code: number
  readonly message: string
  /** The HTTP status. */
  readonly status: number
}

/** The request is refused before anything is sent, as a node of the classic layout refuses it. */
export class RefusedError extends Error {
  readonly error: ClassicError

  constructor(code: number, detail = '') {
    const error = classicError(code)
    super(error.message + detail)
    this.name = 'RefusedError'
    this.error = { ...error, message: this.message }
  }
}

/** Returns the error with its classic text, or with the text of the newer layout if no classic one is known. */
export function classicError(code: number, newerText = ''): ClassicError {
  const known = Object.hasOwn(errorTable, code) ? errorTable[code as ErrorCode] : undefined
  const text = known?.message ?? ownEntry<string>(classicTexts, String(code)) ?? cutAtColon(newerText)
  return { code, message: text, status: known?.status ?? statusOf(code) }
}

/** Codes below 10 are faults of the API process; those of the framework have status 200. */
function statusOf(code: number): number {
  if (code < 10) return 500
  return code >= 600 && code < 900 ? 400 : 200
}

/** The classic layout cuts texts at their first colon. */
export function cutAtColon(text: string): string {
  return text.split(':')[0] ?? ''
}
