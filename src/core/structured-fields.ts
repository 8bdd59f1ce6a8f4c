/** Serialisation of structured fields (RFC 9651), shared by `Cache-Status` and `Cluster-Status`. */

/** RFC 9651 section 3.3.4: a token begins with a letter or an asterisk. */
const TOKEN = /^[A-Za-z*][A-Za-z0-9!#$%&'*+.^_`|~:/-]*$/

/**
 * Returns the text as a token if it is one, else as a quoted string. A string holds printable ASCII only (RFC 9651
 * section 3.3.3), so every other UTF-16 unit becomes `?`.
 */
export function serializeItem(text: string): string {
  return TOKEN.test(text) ? text : `"${text.replaceAll(/[^\x20-\x7e]/g, '?').replaceAll(/["\\]/g, '\\$&')}"`
}
