/** Checks of the form of a request: the slashes of its path, and the scheme of its credentials. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Endpoint } from '../../contracts/endpoint.ts'
import { type EdgeError, notFoundProblem, ProblemError } from '../../core/errors.ts'
import { takesPassword, unauthorized } from './problem.ts'
import type { ReleaseFacts } from './release-facts.ts'

/** Throws for slashes that lead elsewhere in this release. The router ignores one at the end. */
export function checkPath(url: string, facts: ReleaseFacts, isServed: (path: string) => boolean): void {
  if (url.startsWith('//') && facts.slashesAtStart === 'redirected') throw movedTo(308, url.replace(/^\/+/, '/'))
  const mark = url.indexOf('?')
  const path = mark < 0 ? url : url.slice(0, mark)
  if (facts.encodedSlash === 'notFound' && /%2f/i.test(path)) throw notFoundProblem()
  if (path.length < 2 || !path.endsWith('/') || facts.slashAtEnd === 'ignored') return
  let end = path.length
  while (path[end - 1] === '/') end -= 1
  const stripped = path.slice(0, end)
  if (isServed(stripped)) throw movedTo(307, mark < 0 ? stripped : stripped + url.slice(mark))
}

function movedTo(status: 307 | 308, location: string): EdgeError {
  const title = status === 308 ? 'Permanent Redirect' : 'Temporary Redirect'
  return new ProblemError(900, { title, detail: `${status}: ${location}`, status, headers: { location } })
}

const BASIC = /^Basic +/i
const BEARER = /^Bearer /i

export function hasToken({ authorization = '' }: IncomingHttpHeaders): boolean {
  return BEARER.test(authorization)
}

/**
 * Only a login takes a name and a password, and everything else a token. The manager takes several spaces before the
 * password, the plugin that decodes it takes one.
 */
export function checkScheme(headers: IncomingHttpHeaders, endpoint: Endpoint): void {
  const { authorization = '' } = headers
  const isLogIn = takesPassword(endpoint)
  if (isLogIn) headers.authorization = authorization.replace(BASIC, 'Basic ')
  if (isLogIn && !BASIC.test(authorization)) throw unauthorized('Invalid credentials')
  if (!isLogIn && !hasToken(headers)) throw unauthorized('No authorization token provided')
}
