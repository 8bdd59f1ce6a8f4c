/** The path of a request as operators may see it. */

const MAX_SHOWN_LENGTH = 120
/** Where a query can begin, also in URLs of clients that encode or forget its question mark. */
const QUERY_START = /[?#;&=]|%(?:3[fbd]|2[36])/i
/** Control characters, and characters that change the direction of the text around them. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu

/**
 * Returns the path of a request target without anything that can be a query, escaped and at most 120 characters long.
 * Returns `undefined` for a target that is no path: an absolute URL may contain credentials.
 */
export function shownPath(target: string | undefined): string | undefined {
  if (target === undefined || !target.startsWith('/')) return undefined
  const end = target.search(QUERY_START)
  const path = (end < 0 ? target : target.slice(0, end)).slice(0, MAX_SHOWN_LENGTH + 1)
  const escaped = path.replace(UNPRINTABLE, (character) => `\\u{${character.codePointAt(0)?.toString(16) ?? ''}}`)
  return escaped.length > MAX_SHOWN_LENGTH ? `${escaped.slice(0, MAX_SHOWN_LENGTH - 1)}…` : escaped
}
