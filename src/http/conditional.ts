/** Conditional requests (RFC 9110 section 13.1.2), read strictly: what is no list of entity tags matches nothing. */

const TAG = /[\t ,]*(?:W\/)?("[\x21\x23-\x7e\x80-\xff]*")[\t ]*(?=,|$)/y
/** Longer lists are those of nobody who means well. */
const LONGEST = 8192

/**
 * Does `If-None-Match` name this entity tag? Compared weakly, as the RFC wants it here: the client asks whether what
 * it holds still serves. `etag` is strong, with its quotes.
 */
export function namesTag(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined || ifNoneMatch.length > LONGEST) return false
  if (ifNoneMatch === etag || ifNoneMatch === '*') return true
  TAG.lastIndex = 0
  for (let found = TAG.exec(ifNoneMatch); found !== null; found = TAG.exec(ifNoneMatch)) {
    if (found[1] === etag) return true
  }
  return false
}

/** The tag of another representation of the same answer: `"abc"` and `gzip` give `"abc-gzip"`. */
export function tagOf(etag: string, representation: string): string {
  return `${etag.slice(0, -1)}-${representation}"`
}
