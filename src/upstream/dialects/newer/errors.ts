/** Errors of the newer layout as errors of the classic one. */
import type { ErrorRule } from '../../../catalogue/newer/translation.ts'
import { type ErrorCode, errorTable } from '../../../core/errors.ts'
import { ownEntry } from '../../../core/values.ts'
import type { Problem } from './content.ts'

export interface ClassicError {
  readonly code: number
  readonly message: string
  /** The HTTP status. */
  readonly status: number
}

/** What codes of the newer layout mean, unless a translation says otherwise. */
const general: Readonly<Record<number, ErrorRule>> = {
  2007: 'empty',
  1730: 3022,
}

/** Returns what a code means for an endpoint: an error, a response without rows, or success. */
export function meaningOf(code: number, errors: Readonly<Record<number, ErrorRule>> | undefined): ErrorRule {
  return ownEntry<ErrorRule>(errors, String(code)) ?? ownEntry<ErrorRule>(general, String(code)) ?? code
}

/** Returns the error with the text of the classic layout. `message`: the text of the newer layout. */
export function classicError(code: number, newerCode: number, message: string): ClassicError {
  const known = Object.hasOwn(errorTable, code) ? errorTable[code as ErrorCode] : undefined
  const text = code === newerCode || known === undefined ? (message.split(':')[0] ?? '') : known.message
  return { code, message: text, status: known?.status ?? 200 }
}

const PERMISSION_DENIED = 4000

/** Returns the error of a problem without a code, which is about parameters, and of one with a code. */
export function errorOfProblem(
  problem: Problem,
  rules: Readonly<Record<number, ErrorRule>> | undefined,
): ClassicError | 'empty' | 'success' {
  const { code, detail, title, status } = problem
  if (code === undefined) return { code: 614, message: `${title}: ${detail}`, status: 400 }
  const meaning = meaningOf(code, rules)
  if (typeof meaning === 'string') return meaning
  return { ...classicError(meaning, code, detail), ...(code === PERMISSION_DENIED && { status }) }
}
