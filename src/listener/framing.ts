/**
 * What HTTP lets be read in two ways, or what is larger than it needs to be, is refused before anything else
 * looks at it (RFC 9110, RFC 9112). Node's parser refuses the rest.
 */
import type { IncomingMessage } from 'node:http'
import { EdgeError } from '../core/errors.ts'
import { type Head, headOf, type Passed } from './request-head.ts'

export interface FramingLimits {
  /** Bytes of all header names and values; number of them; bytes of the URL. */
  readonly headers: number
  readonly headerCount: number
  readonly url: number
}

export interface FramingRules {
  readonly limits: FramingLimits
  /** Names that are served, in lower case; none: all. */
  readonly hosts: readonly string[]
  readonly methods: readonly string[]
}

/** Headers of which a second one would be read by somebody else. */
const ONCE = new Set([
  'host',
  'content-length',
  'content-type',
  'content-encoding',
  'authorization',
  'transfer-encoding',
  'expect',
])
const WITHOUT_BODY = new Set(['GET', 'HEAD', 'DELETE', 'OPTIONS'])
const HOST = /^(?:[A-Za-z0-9._~-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/

/** Why this request is refused; the connection is to be closed then. `undefined`: it may pass. */
export function framingFault(request: IncomingMessage, rules: FramingRules): EdgeError | undefined {
  const { url = '', method = '', httpVersion: version } = request
  const head = headOf(request)
  if (isRepeated(head, { rules, method, version, url })) return undefined
  const fault =
    tooLarge(request, rules.limits) ??
    repeated(request.rawHeaders) ??
    ambiguousTarget(request, rules.methods) ??
    wrongHost(request, rules.hosts) ??
    ambiguousBody(request)
  head.passed = fault === undefined ? { rules, method, version, url } : undefined
  return fault
}

/** The same request as the one before on its connection is as good as that. */
function isRepeated({ passed }: Head, { rules, method, version, url }: Passed): boolean {
  return (
    passed !== undefined &&
    passed.rules === rules &&
    passed.url === url &&
    passed.method === method &&
    passed.version === version
  )
}

function tooLarge({ url = '', rawHeaders }: IncomingMessage, limits: FramingLimits): EdgeError | undefined {
  if (url.length > limits.url) return new EdgeError(908)
  // Node would drop headers beyond its own maximum silently, and the dropped one may be the one that counts.
  if (rawHeaders.length / 2 > limits.headerCount) return new EdgeError(907, `; more than ${limits.headerCount}`)
  const bytes = rawHeaders.reduce((sum, text) => sum + text.length, 0)
  return bytes > limits.headers ? new EdgeError(907) : undefined
}

/** Node keeps the first of several and forgets the others: only the raw headers tell. */
function repeated(rawHeaders: readonly string[]): EdgeError | undefined {
  const seen = new Set<string>()
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]?.toLowerCase() ?? ''
    if (!ONCE.has(name)) continue
    if (seen.has(name))
      return name === 'content-type' ? new EdgeError(607) : new EdgeError(900, `; two ${name} headers`)
    seen.add(name)
  }
  return undefined
}

function ambiguousTarget(request: IncomingMessage, methods: readonly string[]): EdgeError | undefined {
  const { method = '', url = '', httpVersion, headers } = request
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return new EdgeError(900, '; only HTTP/1.1 and HTTP/1.0')
  // An upgrade is another protocol on the same socket, past every check (H16: smuggling through h2c).
  if (headers.upgrade !== undefined) return new EdgeError(900, '; no upgrade is offered')
  if (!methods.includes(method) || url === '*') {
    return new EdgeError(905, '', { headers: { allow: methods.join(', ') } })
  }
  // An absolute URL names a host of its own beside the Host header; clients write it to proxies only.
  if (!/^\/[\x21\x22\x24-\x7e]*$/.test(url)) return new EdgeError(900, '; the target must be a path')
  return undefined
}

function wrongHost({ headers, httpVersion }: IncomingMessage, hosts: readonly string[]): EdgeError | undefined {
  const { host } = headers
  // Health checks of balancers speak HTTP/1.0 without a Host.
  if (host === undefined) return httpVersion === '1.0' ? undefined : new EdgeError(900, '; no Host')
  if (!HOST.test(host)) return new EdgeError(900, '; Host is no name')
  if (hosts.length === 0) return undefined
  const name = host
    .replace(/:\d+$/, '')
    .replace(/\.$/, '')
    .replace(/^\[|\]$/g, '')
    .toLowerCase()
  return hosts.includes(name) ? undefined : new EdgeError(910)
}

function ambiguousBody({ method = '', httpVersion, headers }: IncomingMessage): EdgeError | undefined {
  const coding = headers['transfer-encoding']
  const length = headers['content-length']
  if (coding !== undefined) {
    if (length !== undefined) return new EdgeError(900, '; Content-Length beside Transfer-Encoding')
    // `identity, chunked` and the like: each hop may see another end of the body.
    if (coding.toLowerCase() !== 'chunked' || httpVersion === '1.0') {
      return new EdgeError(900, '; Transfer-Encoding must be chunked')
    }
  }
  if (length !== undefined && !/^\d{1,15}$/.test(length)) return new EdgeError(900, '; Content-Length is no number')
  const hasBody = coding !== undefined || Number(length ?? 0) > 0
  if (hasBody && WITHOUT_BODY.has(method)) return new EdgeError(900, `; ${method} takes no body`)
  const expects = headers.expect?.toLowerCase()
  return expects === undefined || expects === '100-continue' ? undefined : new EdgeError(909)
}
