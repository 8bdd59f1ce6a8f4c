/** What the headers of a request ask of its response: `Cache-Control`, `Pragma` and `Prefer`. */
import type { IncomingHttpHeaders } from 'node:http'
import { allows } from '../core/access.ts'
import type { Caller, Reuse } from '../core/request.ts'

const PURGE = 'cache:purge'

/**
 * Returns what the cache directives of a request mean (RFC 9111 section 5.2.1). They are ignored for callers who may not
 * purge: such a caller could otherwise turn each of its requests into an upstream call.
 */
export function reuseOf(headers: IncomingHttpHeaders, caller: Caller): Reuse {
  // Pragma counts only without Cache-Control (section 5.4).
  const text = headers['cache-control'] ?? headers.pragma
  if (text === undefined || !allows(caller.permissions, PURGE)) return 'allowed'
  const words = text
    .toLowerCase()
    .split(',')
    .map((word) => word.trim())
  if (words.includes('no-store')) return 'noStore'
  const isNoCache = words.includes('no-cache') || words.some((word) => /^max-age="?0+"?$/.test(word))
  return isNoCache ? 'noCache' : 'allowed'
}

/** Whether the first `return` preference is `minimal` (RFC 7240 section 2). Parameters of preferences are ignored. */
export function prefersMinimal(header: string | readonly string[] | undefined): boolean {
  const preferences = [header ?? []].flat().flatMap((text) => text.split(','))
  const values = preferences.flatMap((text) => {
    const [, value] = /^\s*return\s*=\s*("?[a-z]+"?)\s*(?:;|$)/i.exec(text) ?? []
    return value === undefined ? [] : value.replaceAll('"', '').toLowerCase()
  })
  return values[0] === 'minimal'
}
