/** Headers in a file, one `name: value` on each line; they hold secrets, so that no fault tells what stands there. */
export type HeaderLines =
  | { readonly ok: true; readonly headers: Readonly<Record<string, string>> }
  | { readonly ok: false; readonly line: number; readonly says: string }

/** RFC 9110 sections 5.1 and 5.5; one blank or none behind the colon. */
const LINE = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]?([\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)$/
/** What the sender of the request sets itself. */
const TAKEN = new Set(['host', 'connection', 'content-length', 'content-type', 'content-encoding', 'transfer-encoding'])

export function readHeaderLines(text: string): HeaderLines {
  const headers: Record<string, string> = {}
  for (const [at, line] of text.split(/\r?\n/).entries()) {
    if (line === '') continue
    const refused = (says: string): HeaderLines => ({ ok: false, line: at + 1, says })
    const [, name, value] = LINE.exec(line) ?? []
    if (name === undefined || value === undefined) return refused('must be a name, a colon and a value')
    const known = name.toLowerCase()
    if (TAKEN.has(known)) return refused(`must not set ${known}`)
    if (Object.hasOwn(headers, known)) return refused(`names ${known} a second time`)
    headers[known] = value
  }
  return { ok: true, headers }
}
