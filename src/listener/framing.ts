/**
 * Finds requests that HTTP parsers can read in two ways, or that are larger than necessary, before anything else reads them
 * (RFC 9110, RFC 9112). Node's parser rejects the rest.
 */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { EdgeError } from '../core/errors.ts'

export interface FramingLimits {
  /** Bytes of all header names and values. */
  readonly headers: number
  /** Bytes of the URL. */
  readonly url: number
}

export type MethodsAt = (path: string) => readonly string[]

export interface FramingRules {
  readonly limits: FramingLimits
  /** Host names that are served, in lower case; empty: all. */
  readonly hosts: readonly string[]
  /** OPTIONS is served. */
  readonly cors: boolean
  readonly methodsAt: MethodsAt
}

export const METHODS: readonly string[] = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE']

/** No endpoint has the method PATCH. It is passed on so that it is answered as by the real API, with 404 and 603. */
const PASSED_ON: ReadonlySet<string> = new Set([...METHODS, 'PATCH'])

/** Adds the rules that do not depend on the settings. */
export function withRules<Settings extends Pick<FramingRules, 'limits' | 'hosts'>>(
  settings: Settings,
  { cors, methodsAt = () => METHODS }: { readonly cors: boolean; readonly methodsAt?: MethodsAt | undefined },
): Settings & FramingRules {
  return { ...settings, hosts: settings.hosts.map((host) => host.toLowerCase()), cors, methodsAt }
}

/** Headers that must not be repeated: two recipients could each use another one of the values. */
const SINGLE_HEADERS = new Set([
  'host',
  'content-length',
  'content-type',
  'content-encoding',
  'authorization',
  'transfer-encoding',
  'expect',
])

/** With these methods a body is an error. With GET and DELETE it is read and ignored (http/body.ts): libraries send `{}`. */
const METHODS_WITHOUT_BODY = new Set(['HEAD', 'OPTIONS'])

/** A target in absolute form, which clients with a proxy setting send (RFC 9112 section 3.2.2): its origin and authority. */
const ORIGIN = /^https?:\/\/([^/?#]*)/i

const HOST = /^(?:[A-Za-z0-9._~-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/

/** Returns why this request is rejected, and its connection closed; `undefined`: it is passed on. */
export function framingError(request: IncomingMessage, rules: FramingRules): EdgeError | undefined {
  return (
    sizeError(request, rules.limits) ??
    repeatedHeaderError(request) ??
    targetError(request, rules) ??
    hostError(request, rules.hosts) ??
    bodyError(request)
  )
}

const MAX_HEADERS = 100

function sizeError({ url = '', rawHeaders }: IncomingMessage, limits: FramingLimits): EdgeError | undefined {
  if (url.length > limits.url) return new EdgeError(908)
  // Node drops headers beyond its own limit silently, and the dropped header may be the one that counts.
  if (rawHeaders.length / 2 > MAX_HEADERS) return new EdgeError(907, `; more than ${MAX_HEADERS}`)
  let bytes = 0
  for (const text of rawHeaders) bytes += text.length
  return bytes > limits.headers ? new EdgeError(907) : undefined
}

/** Node keeps the first of several and drops the others, so only the raw headers show them. */
function repeatedHeaderError({ rawHeaders, headers }: IncomingMessage): EdgeError | undefined {
  // Of most requests no header is repeated.
  if (Object.keys(headers).length === rawHeaders.length / 2) return undefined
  const seen: string[] = []
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = (rawHeaders[i] ?? '').toLowerCase()
    if (!SINGLE_HEADERS.has(name)) continue
    if (seen.includes(name))
      return name === 'content-type' ? new EdgeError(607) : new EdgeError(900, `; two ${name} headers`)
    seen.push(name)
  }
  return undefined
}

export function pathOf(target: string): string {
  const [origin] = ORIGIN.exec(target) ?? []
  if (origin === undefined) return target
  const rest = target.slice(origin.length)
  return rest.startsWith('/') ? rest : `/${rest}`
}

function targetError(request: IncomingMessage, { cors, methodsAt }: FramingRules): EdgeError | undefined {
  const { method = '', url = '', httpVersion, headers } = request
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return new EdgeError(900, '; only HTTP/1.1 and HTTP/1.0')
  // Another protocol on the same socket would bypass every check. Java clients offer h2c with each request, and go on without.
  if (headers.upgrade !== undefined && !isIgnoredUpgrade(headers)) return new EdgeError(900, '; no upgrade is offered')
  const path = pathOf(url)
  const isPath = /^\/[\x21\x22\x24-\x7e]*$/.test(path)
  const isPassedOn = PASSED_ON.has(method) || (cors && method === 'OPTIONS')
  if (!isPassedOn || url === '*') {
    const methods = isPath ? methodsAt(path) : METHODS
    return new EdgeError(905, '', { headers: { allow: (cors ? [...methods, 'OPTIONS'] : methods).join(', ') } })
  }
  return isPath ? undefined : new EdgeError(900, '; the target must be a path')
}

/** Whether the request offers a change to HTTP/2 and nothing else. A server may ignore the offer (RFC 9110 section 7.8). */
export function isIgnoredUpgrade({ upgrade }: IncomingHttpHeaders): boolean {
  return upgrade?.toLowerCase() === 'h2c'
}

function hostError(
  { url = '', headers, httpVersion }: IncomingMessage,
  hosts: readonly string[],
): EdgeError | undefined {
  const authority = ORIGIN.exec(url)?.[1]
  const { host } = headers
  if (host !== undefined && !HOST.test(host)) return new EdgeError(900, '; Host is no name')
  if (authority !== undefined && !HOST.test(authority)) return new EdgeError(900, '; the target names no host')
  // Health checks of load balancers use HTTP/1.0 without a Host header.
  if (host === undefined && httpVersion !== '1.0') return new EdgeError(900, '; no Host')
  // The authority of the target counts, not the Host header (RFC 9112 section 3.2.2).
  const named = authority ?? host
  if (named === undefined || hosts.length === 0) return undefined
  const name = named
    .replace(/:\d+$/, '')
    .replace(/\.$/, '')
    .replace(/^\[|\]$/g, '')
    .toLowerCase()
  return hosts.includes(name) ? undefined : new EdgeError(910)
}

function bodyError({ method = '', httpVersion, headers }: IncomingMessage): EdgeError | undefined {
  const coding = headers['transfer-encoding']
  const length = headers['content-length']
  if (coding !== undefined) {
    if (length !== undefined) return new EdgeError(900, '; Content-Length beside Transfer-Encoding')
    // With `identity, chunked` and similar values, each hop may find another end of the body.
    if (coding.toLowerCase() !== 'chunked' || httpVersion === '1.0') {
      return new EdgeError(900, '; Transfer-Encoding must be chunked')
    }
  }
  if (length !== undefined && !/^\d{1,15}$/.test(length)) return new EdgeError(900, '; Content-Length is no number')
  if (METHODS_WITHOUT_BODY.has(method) && hasBody(headers)) return new EdgeError(900, `; ${method} takes no body`)
  const expects = headers.expect?.toLowerCase()
  return expects === undefined || expects === '100-continue' ? undefined : new EdgeError(909)
}

/** Returns whether the headers announce a body of at least one byte. */
export function hasBody(headers: IncomingHttpHeaders): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}
