/**
 * An OpenID Connect issuer on loopback, as a separate process would be: discovery, keys, a page for signing in, codes
 * with PKCE that are accepted once, signed ID tokens, and a page that ends its session. Faults are set by the test.
 */
import { createHash, createHmac, generateKeyPairSync, type KeyPairKeyObjectResult, randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'
import { forge, segment } from '../access/forge.ts'

export const CLIENT_ID = 'console'
export const CLIENT_SECRET = 'only-for-tests-0123456789'

/** What is wrong with the ID tokens of the issuer. */
export const TOKEN_FAULTS = [
  'nonce',
  'noNonce',
  'audience',
  'otherParty',
  'noParty',
  'issuer',
  'noSubject',
  'unsigned',
  'unsignedByNoKey',
  'sharedSecret',
  'otherKey',
  'ownKey',
  'critical',
  'expired',
  'noExpiry',
  'future',
  'issuedAhead',
] as const
export type TokenFault = (typeof TOKEN_FAULTS)[number]

export interface IssuerUnderTest {
  readonly url: string
  /** Claims of the user who signs in next. */
  claims: Record<string, unknown>
  fault: TokenFault | undefined
  /** The parameter `iss` of its responses (RFC 9207); `undefined`: it sends none. */
  responseIssuer: string | undefined
  /** Whether its description promises the parameter `iss`. */
  promisesIssuer: boolean
  /** `false`: the port is open, but each request is answered with 503. */
  isUp: boolean
  /** Paths that were requested, in order. */
  readonly requests: string[]
  /** Queries of ended sessions. */
  readonly ended: URLSearchParams[]
  /** Replaces the signing key, as an issuer does that rotates its keys. */
  rotate(): void
}

interface Grant {
  readonly challenge: string
  readonly nonce: string
  readonly redirectUri: string
}

export async function startIssuer(t: Pick<Test, 'teardown'>): Promise<IssuerUnderTest> {
  let key = keyOf('one', 'signs')
  const other = keyOf('one', 'unknown to the edge')
  const grants = new Map<string, Grant>()
  const requests: string[] = []
  const ended: URLSearchParams[] = []

  const server = createServer((request, response) => void respond(request, response))
  async function respond(request: IncomingMessage, response: ServerResponse): Promise<ServerResponse> {
    const { pathname, searchParams: query } = new URL(request.url ?? '/', issuer.url)
    requests.push(pathname)
    if (!issuer.isUp) return response.writeHead(503).end()
    if (pathname === '/.well-known/openid-configuration') return json(response, metadata())
    if (pathname === '/keys') return json(response, { keys: [{ ...key.jwk, kid: key.kid, alg: 'RS256', use: 'sig' }] })
    if (pathname === '/authorize') return authorize(query, response)
    if (pathname === '/token') return token(request, new URLSearchParams(await textOf(request)), response)
    if (pathname !== '/end') return response.writeHead(404).end()
    ended.push(query)
    return response.writeHead(303, { location: query.get('post_logout_redirect_uri') ?? '/' }).end()
  }

  function metadata() {
    const at = (path: string) => issuer.url + path
    return {
      issuer: issuer.url,
      authorization_endpoint: at('/authorize'),
      token_endpoint: at('/token'),
      jwks_uri: at('/keys'),
      end_session_endpoint: at('/end'),
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      // An issuer that offers too much: the edge must not accept the last two.
      id_token_signing_alg_values_supported: ['RS256', 'HS256', 'none'],
      code_challenge_methods_supported: ['S256'],
      ...(issuer.promisesIssuer && { authorization_response_iss_parameter_supported: true }),
    }
  }

  /** A page with one button, as the issuer's own page for signing in. */
  function authorize(query: URLSearchParams, response: ServerResponse): ServerResponse {
    const redirectUri = query.get('redirect_uri') ?? ''
    const isValid =
      query.get('client_id') === CLIENT_ID &&
      query.get('response_type') === 'code' &&
      query.get('code_challenge_method') === 'S256' &&
      query.get('scope')?.split(' ').includes('openid')
    if (!isValid) return response.writeHead(400).end('invalid request')
    const code = randomBytes(16).toString('hex')
    grants.set(code, { challenge: query.get('code_challenge') ?? '', nonce: query.get('nonce') ?? '', redirectUri })
    const back = new URL(redirectUri)
    back.searchParams.set('code', code)
    back.searchParams.set('state', query.get('state') ?? '')
    if (issuer.responseIssuer !== undefined) back.searchParams.set('iss', issuer.responseIssuer)
    const page = `<!doctype html><title>Issuer</title><h1>Issuer</h1><a href="${back.href.replaceAll('&', '&amp;')}">Continue</a>`
    return response.writeHead(200, { 'content-type': 'text/html' }).end(page)
  }

  function token(request: IncomingMessage, form: URLSearchParams, response: ServerResponse): ServerResponse {
    const [, basic = ''] = /^Basic (.+)$/.exec(request.headers.authorization ?? '') ?? []
    // Both parts are form-encoded (RFC 6749 section 2.3.1).
    const credentials = Buffer.from(basic, 'base64').toString().split(':').map(decodeURIComponent)
    if (credentials.join(':') !== `${CLIENT_ID}:${CLIENT_SECRET}`)
      return json(response, { error: 'invalid_client' }, 401)
    const grant = grants.get(form.get('code') ?? '')
    grants.delete(form.get('code') ?? '')
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url')
    const isRight = grant?.challenge === challenge && grant.redirectUri === form.get('redirect_uri')
    if (grant === undefined || !isRight) return json(response, { error: 'invalid_grant' }, 400)
    const body = { access_token: 'opaque', token_type: 'Bearer', expires_in: 60, id_token: idToken(grant.nonce) }
    return json(response, body)
  }

  function idToken(nonce: string): string {
    const { fault } = issuer
    const now = Math.floor(Date.now() / 1000)
    const claims = {
      iss: issuer.url,
      aud: CLIENT_ID,
      iat: now,
      exp: now + 300,
      nonce,
      ...issuer.claims,
      ...(fault && faultyClaims(now)[fault]),
    }
    const header = { alg: 'RS256', typ: 'JWT', kid: key.kid }
    switch (fault) {
      case 'unsigned':
        return `${segment({ alg: 'none', typ: 'JWT' })}.${segment(claims)}.`
      case 'unsignedByNoKey':
        return forge({ ...header, alg: 'none' }, claims, key.privateKey, 'sha256')
      case 'sharedSecret': {
        const input = `${segment({ ...header, alg: 'HS256' })}.${segment(claims)}`
        return `${input}.${createHmac('sha256', CLIENT_SECRET).update(input).digest('base64url')}`
      }
      case 'critical':
        return forge({ ...header, crit: ['b64'], b64: false }, claims, key.privateKey, 'sha256')
      case 'ownKey':
        return forge({ ...header, jwk: other.jwk, jku: `${issuer.url}/other` }, claims, other.privateKey, 'sha256')
      default:
        return forge(header, claims, (fault === 'otherKey' ? other : key).privateKey, 'sha256')
    }
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const issuer: IssuerUnderTest = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    claims: { sub: 'f3a1', preferred_username: 'olga', groups: ['soc', 'lunch'] },
    fault: undefined,
    responseIssuer: undefined,
    promisesIssuer: false,
    isUp: true,
    requests,
    ended,
    rotate: () => {
      key = keyOf('two', 'signs after a rotation')
    },
  }
  return issuer
}

/** `now` in seconds. */
function faultyClaims(now: number): Partial<Record<TokenFault, object>> {
  return {
    nonce: { nonce: 'another' },
    noNonce: { nonce: undefined },
    audience: { aud: 'another client' },
    otherParty: { aud: [CLIENT_ID, 'another client'], azp: 'another client' },
    noParty: { aud: ['another client', CLIENT_ID] },
    issuer: { iss: 'https://other.example' },
    noSubject: { sub: undefined },
    expired: { iat: now - 7200, exp: now - 3600 },
    noExpiry: { exp: undefined },
    issuedAhead: { iat: now + 5000, exp: now + 9000 },
    future: { iat: now + 3600, nbf: now + 3600, exp: now + 7200 },
  }
}

/** Making an RSA key takes up to a second, so all issuers of a process share their keys. */
const keys = new Map<string, KeyPairKeyObjectResult>()

function keyOf(kid: string, purpose: string) {
  const { publicKey, privateKey } = keys.get(purpose) ?? generateKeyPairSync('rsa', { modulusLength: 2048 })
  keys.set(purpose, { publicKey, privateKey })
  return { kid, privateKey, jwk: publicKey.export({ format: 'jwk' }) }
}

function json(response: ServerResponse, body: object, status = 200): ServerResponse {
  return response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks).toString('utf8')
}
