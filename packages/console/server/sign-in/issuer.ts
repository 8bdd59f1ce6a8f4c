/**
 * An outside issuer that signs users in: OpenID Connect, authorization code flow with PKCE (RFC 7636), state and nonce.
 * The edge sends no request to the issuer before a user signs in, so an issuer that is down affects only sign-ins.
 */
import * as openid from 'openid-client'
import { TOKEN_ALGORITHMS } from '../../../../src/core/access.ts'
import { ownField, ownText } from '../../../../src/core/values.ts'
import type { IssuerSettings } from '../../../../src/status/edge-view.ts'

/** What the browser keeps while the user is at the issuer. */
export interface Progress {
  /** The issuer that the sign-in was started at. Its code must not be sent to another one (RFC 9700 section 4.4). */
  readonly issuer: string
  readonly state: string
  readonly nonce: string
  readonly verifier: string
}

interface SignedInUser {
  readonly claims: Readonly<Record<string, unknown>>
  /** Names the session at the issuer when it is ended. */
  readonly idToken: string
}

export interface Issuer {
  /** The host of the issuer, for labels. */
  readonly name: string
  readonly settings: IssuerSettings
  /** Returns where the browser is sent. Rejects with a `SignInFault`. */
  start(): Promise<{ readonly url: string; readonly progress: Progress }>
  /** `query`: the query that the issuer sent with the browser. Rejects with a `SignInFault`. */
  finish(query: string, progress: Progress): Promise<SignedInUser>
  /** Returns where a browser ends its session at the issuer; `undefined` if the issuer offers no such page. */
  endSessionUrl(returnUrl: string, idToken: string | undefined): Promise<string | undefined>
}

/** Why the issuer did not sign a user in. The message is for the user and the log; it contains no token. */
export class SignInFault extends Error {
  /** `unreachable`: the issuer did not respond as an issuer. `refused`: it did, and the sign-in failed. */
  readonly kind: 'unreachable' | 'refused'

  constructor(kind: SignInFault['kind'], message: string) {
    super(message)
    this.kind = kind
  }
}

/** Seconds. A user waits for it. */
const TIMEOUT_S = 5
/** Endpoints and keys of the issuer are read again after this time. */
const REFRESH_AFTER_MS = 600_000
/** If that fails, the known ones are used for this time. */
const MAX_AGE_MS = 24 * 3_600_000

export const checkIssuer = (settings: IssuerSettings) => createIssuer(settings).start()

export function createIssuer(settings: IssuerSettings): Issuer {
  let known: { readonly configuration: openid.Configuration; readonly at: number } | undefined
  let pending: Promise<openid.Configuration> | undefined

  async function configure(): Promise<openid.Configuration> {
    if (known !== undefined && performance.now() - known.at < REFRESH_AFTER_MS) return known.configuration
    pending ??= discover(settings).finally(() => {
      pending = undefined
    })
    try {
      const configuration = await pending
      known = { configuration, at: performance.now() }
      return configuration
    } catch (error) {
      if (known !== undefined && performance.now() - known.at < MAX_AGE_MS) return known.configuration
      throw error
    }
  }

  return {
    name: new URL(settings.issuer).host,
    settings,
    async start() {
      const configuration = await configure()
      const progress = {
        issuer: settings.issuer,
        state: openid.randomState(),
        nonce: openid.randomNonce(),
        verifier: openid.randomPKCECodeVerifier(),
      }
      const { href } = openid.buildAuthorizationUrl(configuration, {
        redirect_uri: settings.redirectUrl,
        scope: settings.scopes.join(' '),
        state: progress.state,
        nonce: progress.nonce,
        code_challenge: await openid.calculatePKCECodeChallenge(progress.verifier),
        code_challenge_method: 'S256',
      })
      return { url: href, progress }
    },
    async finish(query, { issuer, state, nonce, verifier }) {
      if (issuer !== settings.issuer) throw new SignInFault('refused', 'the sign-in was started at another issuer')
      const configuration = await configure()
      const url = new URL(settings.redirectUrl)
      url.search = query
      try {
        const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true }
        const tokens = await openid.authorizationCodeGrant(configuration, url, checks)
        const claims = { ...tokens.claims() }
        refuseFuture(claims.iat)
        return { claims, idToken: tokens.id_token ?? '' }
      } catch (error) {
        throw faultOf(error)
      }
    },
    async endSessionUrl(returnUrl, idToken) {
      const configuration = await configure().catch(() => undefined)
      if (configuration?.serverMetadata().end_session_endpoint === undefined) return undefined
      return openid.buildEndSessionUrl(configuration, {
        post_logout_redirect_uri: returnUrl,
        ...(idToken !== undefined && { id_token_hint: idToken }),
      }).href
    },
  }
}

/** The library checks `exp` and `nbf` with this tolerance, and not `iat`. */
const MAX_AHEAD_S = 30

function refuseFuture(issuedAt = 0): void {
  const ahead = Math.round(issuedAt - Date.now() / 1000)
  if (ahead <= MAX_AHEAD_S) return
  const remedy = 'compare the clocks of the issuer and the edge'
  throw new SignInFault('refused', `the ID token was issued ${ahead} s in the future: ${remedy}`)
}

/** Reads the issuer's description. Rejects with a `SignInFault` that says what is wrong with it. */
async function discover({ issuer, clientId, clientSecret }: IssuerSettings): Promise<openid.Configuration> {
  const isPlain = issuer.startsWith('http:')
  try {
    const execute = isPlain ? [openid.allowInsecureRequests] : []
    const found = await openid.discovery(new URL(issuer), clientId, undefined, openid.None(), {
      execute,
      timeout: TIMEOUT_S,
    })
    const configuration = withSafeAlgorithms(found.serverMetadata(), clientId, clientSecret)
    configuration.timeout = TIMEOUT_S
    // The settings allow plain HTTP for an issuer on a loopback address only.
    if (isPlain) openid.allowInsecureRequests(configuration)
    // The library would otherwise trust TLS instead of the signature of the ID token.
    openid.enableNonRepudiationChecks(configuration)
    return configuration
  } catch (error) {
    throw new SignInFault('unreachable', describe(error))
  }
}

/** Whatever the issuer offers, an ID token is signed with a public-key algorithm: never `none`, never a shared secret. */
function withSafeAlgorithms(
  metadata: openid.ServerMetadata,
  clientId: string,
  clientSecret: string | undefined,
): openid.Configuration {
  const { id_token_signing_alg_values_supported: offered = ['RS256'] } = metadata
  const algorithms = offered.filter((each) => TOKEN_ALGORITHMS.some((known) => known === each))
  const safe = { ...metadata, id_token_signing_alg_values_supported: algorithms }
  // The default of the standard (RFC 8414 section 2).
  const { token_endpoint_auth_methods_supported: methods = ['client_secret_basic'] } = metadata
  const secretMethod = methods.includes('client_secret_basic') ? openid.ClientSecretBasic : openid.ClientSecretPost
  const authentication = clientSecret === undefined ? openid.None() : secretMethod(clientSecret)
  return new openid.Configuration(safe, clientId, undefined, authentication)
}

function faultOf(error: unknown): SignInFault {
  if (error instanceof SignInFault) return error
  if (error instanceof openid.AuthorizationResponseError || error instanceof openid.ResponseBodyError)
    return new SignInFault('refused', `the issuer responded with ${printable(error.error)}`)
  const code = ownText(error, 'code') ?? ''
  const isUnreachable = code === 'OAUTH_TIMEOUT' || code === 'OAUTH_RESPONSE_IS_NOT_CONFORM' || isNetworkError(error)
  return new SignInFault(isUnreachable ? 'unreachable' : 'refused', describe(error))
}

/** `fetch` rejects with a TypeError whose cause is the error of the socket. */
function isNetworkError(error: unknown): boolean {
  return error instanceof TypeError && ownField(error, 'cause') !== undefined
}

/** The causes of the library's errors contain responses with tokens, so only the names of causes are used. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown error'
  const claim = ownText(ownField(ownField(error, 'cause'), 'cause'), 'claim')
  const code = isNetworkError(error) ? ownText(ownField(error, 'cause'), 'code') : undefined
  const detail = claim ?? code
  return detail === undefined ? error.message : `${error.message} (${printable(detail)})`
}

/** Codes of OAuth errors are printable ASCII (RFC 6749 section 5.2), but the text comes from outside. */
function printable(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '?').slice(0, 100)
}
