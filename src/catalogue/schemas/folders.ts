/**
 * Folders of files that may be read and written (704 else). A segment neither is nor ends with a dot, so `./` and `../`
 * cannot stand anywhere; a backslash and an empty segment cannot either. Each repetition ends at a character that it
 * cannot hold itself, which keeps the match linear.
 */
import type { Param } from '../endpoint.ts'

const ANY = '[A-Za-z0-9_.:-]'
const NO_DOT = '[A-Za-z0-9_:-]'
const SUBFOLDERS = `(?:${ANY}*${NO_DOT}/)*`
const XML_FILE = `${ANY}+\\.xml`
const LIST_FILE = `\\.*${NO_DOT}${ANY}*`

const CONFIGURATION = 'etc/ossec\\.conf'
const RULESET = `(?:rules|decoders)/${SUBFOLDERS}${XML_FILE}`
const LISTS = `etc/lists/${SUBFOLDERS}${LIST_FILE}`

function path(role: string, ...allowed: readonly string[]): Param {
  const within = { pattern: `^(?:${allowed.join('|')})$`, code: 704 } as const
  return { kind: 'paths', role, required: 706, within }
}

export const readPath = path('relative path', CONFIGURATION, `(?:etc|ruleset)/${RULESET}`, LISTS)
export const writePath = path('relative destination', CONFIGURATION, `etc/${RULESET}`, LISTS)
/** Without the main configuration, a node does not start again. The real API deletes it on request. */
export const deletePath = path('relative path', `etc/${RULESET}`, LISTS)
