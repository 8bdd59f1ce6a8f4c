import { hash, randomUUID } from 'node:crypto'
import type { Clock } from '../core/timing.ts'
import {
  IssuerKeys,
  type IssuerKeysOptions,
  type KeyAnswer,
  keySetReader,
  type OutsideAlgorithm,
} from './issuer-keys.ts'
import type { Revocations } from './revocations.ts'
import { type KeyRing, ownAlgorithm } from './signing-keys.ts'
import type { ClaimRules, Claims } from './tokens.ts'
import { type Members, member, type ReadToken } from './tokens.ts'

/** Who may have issued a token: the edge itself, and outside issuers by their key sets. */

export interface TokenIssuer {
  readonly rules: ClaimRules
  /** The public key's text as it is known at this moment. */
  known(kid: string): string | undefined
  find(kid: string): Promise<KeyAnswer>
  /** Header parameters beyond `alg` and `kid`, which are the key's to decide. */
  takes(header: Members): boolean
  /** The last word on claims that keep the rules; `undefined` refuses them. */
  complete(claims: Claims, token: ReadToken): Claims | undefined
}

/** Claims to be signed, and by which key (PEM). */
export interface UnsignedToken {
  readonly claims: Readonly<Record<'iss' | 'aud' | 'sub' | 'jti', string> & Record<'iat' | 'exp', number>>
  readonly kid: string
  readonly pem: string
}

export interface OwnIssuer extends TokenIssuer {
  /** A new token for the user, not yet signed; later than every revocation of the user's tokens. */
  prepare(name: string): Promise<UnsignedToken>
}

export interface OwnIssuerOptions {
  readonly issuer: string
  readonly audience: string
  /** Seconds. */
  readonly lifetime: number
  readonly keys: KeyRing
  readonly revocations: Revocations
  readonly clock: Clock
}

/** The millisecond of issue in front: seconds are too coarse to tell tokens before a revocation from those after. */
const OWN_JTI = /^(\d{13})\.[0-9a-f-]{36}$/

export function ownIssuer({ keys, revocations, clock, ...rest }: OwnIssuerOptions): OwnIssuer {
  const { issuer, audience, lifetime } = rest
  return {
    rules: { issuer, audience, lifetime, jti: 'required' },
    known: (kid) => keys.verifier(kid),
    async find(kid) {
      const pem = keys.verifier(kid)
      return pem === undefined ? { ok: false, reason: 'unknown' } : { ok: true, key: { pem, algorithm: ownAlgorithm } }
    },
    takes: (header) => member(header, 'typ') === 'JWT' && Object.keys(header).length === 3,
    complete(claims) {
      const issuedAt = Number(OWN_JTI.exec(claims.jti)?.[1])
      return Math.floor(issuedAt / 1000) * 1000 === claims.issuedAt ? { ...claims, issuedAt } : undefined
    },
    async prepare(name) {
      const issuedAt = Math.max(clock.wall(), (await revocations.revokedUpTo(issuer, name)) + 1)
      const iat = Math.floor(issuedAt / 1000)
      const jti = `${issuedAt}.${randomUUID()}`
      return { claims: { iss: issuer, aud: audience, sub: name, iat, exp: iat + lifetime, jti }, ...keys.signer() }
    },
  }
}

export interface OutsideIssuerSettings {
  /** The `iss` of its tokens, exactly. */
  readonly issuer: string
  readonly audience: string
  /** Where its key set is read. */
  readonly jwks: string
  readonly algorithms?: readonly OutsideAlgorithm[]
  /** Seconds between `iat` and `exp` at most. */
  readonly lifetime?: number
  /** Some issuers give tokens no `jti`; then a digest of the token stands for it. */
  readonly jti?: 'required' | 'optional'
  /** The claim that names roles: a list, or words with blanks between; `realm_access.roles` goes one level down. */
  readonly rolesClaim?: string
  /** What its words mean in roles of the edge. Absent: the words are names of roles. */
  readonly roles?: Readonly<Record<string, readonly string[]>>
}

export interface OutsideIssuer extends TokenIssuer {
  /** Names of roles, as the claims say; they need not exist. */
  rolesOf(claims: Members): readonly string[]
}

const usual: readonly OutsideAlgorithm[] = ['RS256', 'ES256', 'EdDSA']
const types = ['jwt', 'at+jwt']
/** They name keys or change what is signed (RFC 8725 section 3): the key comes from the settings only. */
const refused = ['crit', 'jwk', 'jku', 'x5u', 'x5c', 'b64', 'zip', 'enc']

export function outsideIssuer(
  settings: OutsideIssuerSettings,
  parts: Pick<IssuerKeysOptions, 'clock' | 'log'>,
): OutsideIssuer {
  const { issuer, audience, algorithms = usual, lifetime = 3600, jti = 'required' } = settings
  const keys = new IssuerKeys({ ...parts, issuer, algorithms, read: keySetReader(settings.jwks) })
  return {
    rules: { issuer, audience, lifetime, jti },
    known: (kid) => keys.known(kid)?.pem,
    find: (kid) => keys.find(kid),
    takes: (header) =>
      types.includes(String(member(header, 'typ')).toLowerCase()) &&
      !refused.some((name) => Object.hasOwn(header, name)),
    complete: (claims, { signed }) =>
      claims.jti === '' ? { ...claims, jti: `sha256:${hash('sha256', signed, 'base64url')}` } : claims,
    rolesOf(claims) {
      const words = wordsOf(claims, settings.rolesClaim ?? 'roles')
      const meanings = settings.roles
      if (meanings === undefined) return words
      return words.flatMap((word) => (Object.hasOwn(meanings, word) ? (meanings[word] ?? []) : []))
    },
  }
}

function wordsOf(claims: Members, name: string): string[] {
  const dot = name.indexOf('.')
  let value = member(claims, name)
  if (value === undefined && dot > 0) {
    const outer = member(claims, name.slice(0, dot))
    value = typeof outer === 'object' && outer !== null ? member(outer as Members, name.slice(dot + 1)) : undefined
  }
  if (typeof value === 'string') return value.split(' ').filter((word) => word !== '')
  return Array.isArray(value) ? value.filter((word) => typeof word === 'string') : []
}
