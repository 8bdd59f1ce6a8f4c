/** Writes responses as the v4 API does. */
import type { Outgoing } from '../wire.ts'
import { type Answer, envelopeOf, type Texts, toJson } from './answers.ts'
import { type Refusal, V4Error } from './errors.ts'
import { documentedAs, isMasterOnly } from './releases.ts'

/** Headers of every response. */
const always = {
  'strict-transport-security': 'max-age=63072000; includeSubdomains',
  'x-frame-options': 'DENY',
  'x-xss-protection': '0',
  'x-content-type-options': 'nosniff',
  'content-security-policy': "none 'self'",
  'referrer-policy': 'no-referrer, strict-origin-when-cross-origin',
  'cache-control': 'no-store',
}

export function success(answer: Answer, texts: Texts, pretty: boolean): Outgoing {
  if (answer.kind === 'file') return written(200, `${answer.type}; charset=utf-8`, answer.text)
  const value = envelopeOf(answer, texts)
  return written(200, 'application/json; charset=utf-8', pretty ? indented(toJson(value)) : toJson(value))
}

export function json(status: number, value: unknown): Outgoing {
  return written(status, 'application/json; charset=utf-8', toJson(value))
}

export function plain(text: string): Outgoing {
  return written(200, 'text/plain; charset=utf-8', text)
}

/** `node`: named in the body if the error does not name one itself. */
export function failure(error: V4Error | Refusal, node: string): Outgoing {
  if (!(error instanceof V4Error)) {
    const { status, title, message: detail, code: error_ } = error
    return problem(status, { title, detail, error: error_ })
  }
  const { code, status, title, message, remediation, namesNodes } = error
  const inLog = code === 1000 ? '. See log for more detail' : ''
  const nodes = Object.keys(error.nodes).length > 0 ? error.nodes : { [node]: message }
  const logfile = status === 500 ? { logfile: 'WAZUH_HOME/logs/api.log' } : {}
  const named = Object.fromEntries(
    Object.entries(nodes).map(([name, text]) => [name, { error: text + inLog, ...logfile }]),
  )
  return problem(status, {
    title,
    detail: message.trimEnd(),
    ...(remediation === undefined ? {} : { remediation }),
    ...(namesNodes ? { dapi_errors: named } : {}),
    error: code,
  })
}

/** A fault of the HTTP framework itself. */
export function crashed(isRelease5: boolean): Outgoing {
  const title = 'Internal Server Error'
  return problem(500, {
    type: 'about:blank',
    title,
    detail: isRelease5 ? IN_TROUBLE : 'Server got itself in trouble',
    status: 500,
  })
}

const IN_TROUBLE =
  'The server encountered an internal error and was unable to complete your request. Either the server is overloaded or there is an error in the application.'

export const uncaught: Outgoing = written(500, 'text/plain; charset=utf-8', 'Internal Server Error')

/** The HTTP framework refuses a request line that is too long. */
export function tooLong(url: string): Outgoing {
  return written(
    400,
    'text/plain; charset=utf-8',
    `Got more than 8190 bytes when reading: bytearray(b'${url.slice(0, 100)}...').`,
  )
}

export function redirect(status: 307 | 308, location: string): Outgoing {
  return { status, headers: { ...always, location, 'content-length': '0' }, body: Buffer.alloc(0) }
}

const DOCUMENTATION = 'https://documentation.wazuh.com/current/'

/** Texts of releases 4 that release 5.0 has in another way. */
const WORDED: readonly (readonly [text: string, of5: string])[] = [
  ['Field does not exist.: ', 'Field does not exist: '],
  ['. Fields ', '. Fields: '],
  ['Not a valid sort field ', 'Not a valid sort field'],
]

/** Where a shared parameter was described. */
const SCOPE = /, 'x-scope': \['', '[^']*'\]/g

/** Headers of release 5.0 that releases 4 have in another way. */
const headersOf5 = { server: 'Wazuh', 'x-frame-options': 'deny', 'content-security-policy': 'none' }

/**
 * Returns a response as a release writes it: links in texts lead to its documentation. In release 5.0, JSON has no charset
 * and a problem no line feed at its end. `version`: `4.5.4`.
 */
export function asWrittenBy(outgoing: Outgoing, version: string): Outgoing {
  const release = documentedAs(version)
  const isLater = isMasterOnly(version)
  const isLinked = release !== undefined && outgoing.body.includes(DOCUMENTATION)
  if (!isLinked && !isLater) return outgoing
  let text = outgoing.body.toString('utf8')
  if (isLinked) text = text.replaceAll(DOCUMENTATION, DOCUMENTATION.replace('current', release))
  const headers: Record<string, string> = { ...outgoing.headers }
  if (isLater) {
    Object.assign(headers, headersOf5)
    const isProblem = headers['content-type']?.startsWith('application/problem+json') === true
    if (isProblem) text = WORDED.reduce((sum, [before, after]) => sum.replaceAll(before, after), text.trimEnd())
    if (isProblem) text = text.replaceAll(SCOPE, '')
    else if (outgoing.status === 200)
      headers['content-type'] = (headers['content-type'] ?? '').replace('; charset=utf-8', '')
  }
  const body = Buffer.from(text)
  return { ...outgoing, headers: { ...headers, 'content-length': `${body.length}` }, body }
}

/** The body of every problem ends with a line feed. */
function problem(status: number, value: unknown): Outgoing {
  return written(status, 'application/problem+json; charset=utf-8', `${JSON.stringify(value)}\n`)
}

function written(status: number, type: string, text: string): Outgoing {
  const body = Buffer.from(text)
  return { status, headers: { ...always, 'content-type': type, 'content-length': `${body.length}` }, body }
}

/** Floats are numbers in the text already, so the text is indented and not the value. */
function indented(text: string): string {
  let depth = 0
  const line = () => `\n${'   '.repeat(depth)}`
  return text.replaceAll(/"(?:[^"\\]|\\.)*"|\{\}|\[\]|[{}[\],:]/g, (token) => {
    if (token === ':') return ': '
    if (token === ',') return `,${line()}`
    if (token === '{' || token === '[') {
      depth += 1
      return token + line()
    }
    if (token !== '}' && token !== ']') return token
    depth -= 1
    return line() + token
  })
}
