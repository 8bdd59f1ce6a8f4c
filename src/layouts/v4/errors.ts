/** Errors of the v4 layout as errors of the v3 one. */

import type { ErrorRule } from '../../contracts/translations/translation.ts'
import v3 from '../../contracts/v3/texts.json' with { type: 'json' }
import { type ErrorCode, errorTable } from '../../core/errors.ts'
import { ownEntry } from '../../core/values.ts'
import { NO_DATABASE, NO_SUCH_NODE, UNKNOWN_NODE } from './content.ts'

/**
 * What codes of the v4 layout mean, unless a translation says otherwise. 6000 and 6001 are not here: a blocked address
 * and an exhausted budget are faults of the call, not answers.
 */
const general: Readonly<Record<number, ErrorRule>> = {
  1121: 1117,
  1128: 1101,
  1407: 622,
  1705: 9008,
  1706: 9007,
  1708: 9012,
  [NO_SUCH_NODE]: UNKNOWN_NODE,
  1820: 1716,
  1912: 607,
  2003: 1000,
  [NO_DATABASE]: 'empty',
  6002: 607,
}

/** Returns what a code means for an endpoint: an error, a response without rows, or success. */
export function meaningOf(code: number, errors: Readonly<Record<number, ErrorRule>> | undefined): ErrorRule {
  return ownEntry<ErrorRule>(errors, String(code)) ?? ownEntry<ErrorRule>(general, String(code)) ?? code
}

/** The text names daemons, which the v3 layout calls otherwise. */
const NOT_READY = 1017
const RENAMED_DAEMON = /\bwazuh-(?!modulesd\b|db\b|clusterd\b)(?=[a-z]+->)/g

/** The node says why an upgrade task was not started; the v3 text has no reason. */
const UPGRADE_REFUSED = 1820

/** Returns the v3 error of a v4 code that means it. `message`: the text of the v4 layout. */
export function errorOf(meaning: number, code: number, message: string): V3Error {
  const error = v3Error(meaning, message)
  if (code === NOT_READY) return { ...error, message: message.replace(RENAMED_DAEMON, 'ossec-') }
  if (code === UPGRADE_REFUSED) return { ...error, message: cutAtColon(message) }
  return error
}

/** Errors of the v3 layout: code, text and HTTP status. */
export interface V3Error {
  readonly code: number
  readonly message: string
  readonly status: number
}

/** The request is refused before anything is sent, as a node of the v3 layout refuses it. */
export class RefusedError extends Error {
  readonly error: V3Error

  constructor(code: number, detail = '') {
    const error = v3Error(code)
    super(error.message + detail)
    this.name = 'RefusedError'
    this.error = { ...error, message: this.message }
  }
}

/** Returns the error with its v3 text, or with the text of the v4 layout if no v3 one is known. */
export function v3Error(code: number, v4Text = ''): V3Error {
  const known = Object.hasOwn(errorTable, code) ? errorTable[code as ErrorCode] : undefined
  const text = known?.message ?? ownEntry<string>(v3.texts, String(code)) ?? cutAtColon(v4Text)
  return { code, message: text, status: known?.status ?? statusOf(code) }
}

/** Codes below 10 are faults of the API process; those of the framework have status 200. */
function statusOf(code: number): number {
  if (code < 10) return 500
  return code >= 600 && code < 900 ? 400 : 200
}

/** The v3 layout cuts texts at their first colon. */
function cutAtColon(text: string): string {
  return text.split(':')[0] ?? ''
}
