/** The issuers whose tokens are accepted: the edge itself, and external issuers by their key sets. */

import { hash, randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { compactVerify, SignJWT } from 'jose'
import { EDGE_NAME, type Revocations, type TokenAlgorithm } from '../core/access.ts'
import type { Clock } from '../core/timing.ts'
import { type JsonObject, ownField } from '../core/values.ts'
import { createKeySetFetcher, IssuerKeys, type IssuerKeysOptions } from './issuer-keys.ts'
import { type ClaimRoles, rolesOfWords, wordsOfClaim } from './roles.ts'
import { OWN_TOKEN_ALGORITHM } from './signed-texts.ts'
import type { KeyRing } from './signing-keys.ts'
import type { ClaimRules, TokenIssuer } from './tokens.ts'

export type OwnIssuer = ReturnType<typeof createOwnIssuer>

interface OwnIssuerOptions {
  /** Seconds. */
  readonly lifetime: () => number
  readonly keys: KeyRing
  readonly revocations: Revocations
  readonly clock: Clock
}

/**
 * The `jti` starts with the millisecond of issue: whole seconds, as in `iat`, are too coarse to separate tokens before a
 * revocation from tokens after it.
 */
const OWN_JTI_PATTERN = /^(\d{13})\.[0-9a-f-]{36}$/

export function createOwnIssuer(options: OwnIssuerOptions) {
  const { keys, revocations, clock } = options
  const tokens: TokenIssuer = {
    rules: {
      issuer: EDGE_NAME,
      audience: EDGE_NAME,
      jti: 'required',
      // Read for each token: the setting may change.
      get lifetime() {
        return options.lifetime()
      },
    },
    cachedKey: (kid) => keys.publicKey(kid),
    async findKey(kid) {
      const key = keys.publicKey(kid)
      if (key === undefined) return { ok: false, reason: 'unknown' }
      return { ok: true, key: { key, algorithm: OWN_TOKEN_ALGORITHM } }
    },
    hasSigned: (_token, { key }, verifyOwn) => verifyOwn(key.export({ type: 'spki', format: 'pem' }).toString()),
    acceptsHeader: (header) => ownField(header, 'typ') === 'JWT' && Object.keys(header).length === 3,
    completeClaims(claims) {
      const issuedAt = Number(OWN_JTI_PATTERN.exec(claims.jti)?.[1])
      return Math.floor(issuedAt / 1000) * 1000 === claims.issuedAt ? { ...claims, issuedAt } : undefined
    },
  }
  return {
    ...tokens,
    /** Resolves to a new token for the user, which is newer than every revocation of the user's tokens. */
    async issue(name: string): Promise<string> {
      const issuedAt = Math.max(clock.wall(), (await revocations.revokedUpTo(EDGE_NAME, name)) + 1)
      const iat = Math.floor(issuedAt / 1000)
      const claims = { iss: EDGE_NAME, aud: EDGE_NAME, sub: name, iat, exp: iat + options.lifetime() }
      const { kid, key } = keys.signingKey()
      const token = new SignJWT({ ...claims, jti: `${issuedAt}.${randomUUID()}` })
      return token.setProtectedHeader({ alg: OWN_TOKEN_ALGORITHM, typ: 'JWT', kid }).sign(key)
    },
  }
}

/** One entry of the setting `access.tokens.issuers`. */
export interface ExternalIssuerSettings extends ClaimRoles, ClaimRules {
  /** URL of its key set. */
  readonly jwks: string
  readonly algorithms: readonly TokenAlgorithm[]
}

interface ExternalIssuer extends TokenIssuer {
  /** Returns the names of roles in the claims. The roles need not exist. */
  roleNames(payload: JsonObject): readonly string[]
}

const ACCEPTED_TYPES = ['jwt', 'at+jwt']

/** These parameters name keys or change what is signed (RFC 8725 section 3). The key comes from the settings only. */
const REFUSED_HEADERS = ['crit', 'jwk', 'jku', 'x5u', 'x5c', 'b64', 'zip', 'enc']

function createExternalIssuer(
  settings: ExternalIssuerSettings,
  parts: Pick<IssuerKeysOptions, 'clock' | 'log'>,
): ExternalIssuer {
  const { issuer, audience, algorithms, lifetime, jti } = settings
  const keys = new IssuerKeys({ ...parts, issuer, algorithms, fetchKeySet: createKeySetFetcher(settings.jwks) })
  return {
    rules: { issuer, audience, lifetime, jti },
    cachedKey: (kid) => keys.cached(kid)?.key,
    findKey: (kid) => keys.find(kid),
    hasSigned: (token, { key, algorithm }) =>
      compactVerify(token, key, { algorithms: [algorithm] }).then(
        () => true,
        () => false,
      ),
    acceptsHeader: (header) =>
      ACCEPTED_TYPES.includes(String(ownField(header, 'typ')).toLowerCase()) &&
      !REFUSED_HEADERS.some((name) => Object.hasOwn(header, name)),
    completeClaims: (claims, { signingInput }) =>
      claims.jti === '' ? { ...claims, jti: `sha256:${hash('sha256', signingInput, 'base64url')}` } : claims,
    roleNames: (payload) => rolesOfWords(wordsOfClaim(payload, settings), settings),
  }
}

export type ExternalIssuers = ReturnType<typeof createExternalIssuers>

/** Throws an `Error` for the operator if a setting is invalid. */
export function createExternalIssuers(
  initial: readonly ExternalIssuerSettings[],
  parts: Pick<IssuerKeysOptions, 'clock' | 'log'>,
) {
  let current: ReadonlyMap<string, { readonly settings: ExternalIssuerSettings; readonly issuer: ExternalIssuer }> =
    new Map()
  /**
   * Checks the next issuers. Throws, and changes nothing, if one is invalid. Returns the function that puts them to use.
   * An issuer whose settings are unchanged stays the same object, with its keys.
   */
  const prepare = (next: readonly ExternalIssuerSettings[]): (() => void) => {
    checkIssuers(next)
    const entries = next.map((settings) => {
      const known = current.get(settings.issuer)
      if (known !== undefined && isDeepStrictEqual(known.settings, settings)) return known
      return { settings, issuer: createExternalIssuer(settings, parts) }
    })
    return () => {
      current = new Map(entries.map((entry) => [entry.settings.issuer, entry]))
    }
  }
  prepare(initial)()
  /** `name`: the `iss` of its tokens. */
  return { prepare, get: (name: string) => current.get(name)?.issuer }
}

function checkIssuers(issuers: readonly ExternalIssuerSettings[]): void {
  const names = [EDGE_NAME, ...issuers.map(({ issuer }) => issuer)]
  const duplicate = names.find((name, index) => names.indexOf(name) < index)
  if (duplicate !== undefined) throw new Error(`access.tokens.issuers: ${duplicate} is listed twice`)
}
