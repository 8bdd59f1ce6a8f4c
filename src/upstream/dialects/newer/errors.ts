/** Errors of the newer layout as errors of the classic one. */
import type { ErrorRule, NoError } from '../../../catalogue/newer/translation.ts'
import { ownEntry } from '../../../core/values.ts'
import { type ClassicError, classicError, cutAtColon } from './classic-error.ts'
import type { Problem } from './content.ts'
import type { Conversation } from './conversation.ts'
import { errorOfParameters } from './refused-parameters.ts'

/**
 * What codes of the newer layout mean, unless a translation says otherwise. 6000 and 6001 are not here: a blocked address
 * and an exhausted budget are faults of the call, not answers.
 */
const general: Readonly<Record<number, ErrorRule>> = {
  1121: 1117,
  1128: 1101,
  1407: 622,
  1705: 9008,
  1706: 9007,
  1708: 9012,
  1730: 3022,
  1820: 1716,
  1912: 607,
  2003: 1000,
  2007: 'empty',
  6002: 607,
}

/** Returns what a code means for an endpoint: an error, a response without rows, or success. */
export function meaningOf(code: number, errors: Readonly<Record<number, ErrorRule>> | undefined): ErrorRule {
  return ownEntry<ErrorRule>(errors, String(code)) ?? ownEntry<ErrorRule>(general, String(code)) ?? code
}

/** The text names daemons, which the classic layout calls otherwise. */
const NOT_READY = 1017
const RENAMED_DAEMON = /\bwazuh-(?!modulesd\b|db\b|clusterd\b)(?=[a-z]+->)/g

const PERMISSION_DENIED = 4000
/** The node says why an upgrade task was not started; the classic text has no reason. */
const UPGRADE_REFUSED = 1820

/** Returns what a problem means. Without a code it is about parameters, or about the API process of the node. */
export function errorOfProblem(conversation: Conversation, problem: Problem): ClassicError | NoError {
  const { code, detail, status } = problem
  if (code === undefined) return errorWithoutCode(conversation, problem)
  const meaning = meaningOf(code, conversation.translation.errors)
  if (typeof meaning === 'string') return meaning
  return { ...errorOf(meaning, code, detail), ...(code === PERMISSION_DENIED && { status }) }
}

/** Returns the classic error of a newer code that means it. `message`: the text of the newer layout. */
export function errorOf(meaning: number, code: number, message: string): ClassicError {
  const error = classicError(meaning, message)
  if (code === NOT_READY) return { ...error, message: message.replace(RENAMED_DAEMON, 'ossec-') }
  if (code === UPGRADE_REFUSED) return { ...error, message: cutAtColon(message) }
  return error
}

const TOO_LARGE = 413

function errorWithoutCode(conversation: Conversation, problem: Problem): ClassicError | NoError {
  if (problem.status === TOO_LARGE) return classicError(701)
  if (problem.status >= 500) return classicError(3)
  // The node does not know the path: its release is older than the translation.
  if (problem.status === 404) return classicError(603)
  return errorOfParameters(conversation, problem.detail)
}
