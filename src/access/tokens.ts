/**
 * Bearer tokens. A token is parsed so strictly that each one has one spelling and one meaning (RFC 7515, RFC 8725).
 * Libraries accept more: of two `sub` members, one parser takes the first and another the last, and spare bits in the
 * last character of a segment change the text of a token but not its signature.
 */
import { isUtf8 } from 'node:buffer'
import type { Revocations, TokenIdentity } from '../core/access.ts'
import { CLOCK_TOLERANCE_S, type Clock } from '../core/timing.ts'
import { isObject, type JsonObject, ownField, parseJson } from '../core/values.ts'
import type { IssuerKey, KeyLookup } from './issuer-keys.ts'

/** Resolves to whether the token of this request is signed by this key (PEM) of the edge. */
export type VerifyOwnSignature = (pem: string) => Promise<boolean>

export type TokenResult =
  /** `isCurrent`: the token is still valid without another check of its signature. */
  | { readonly ok: true; readonly claims: Claims; readonly payload: JsonObject; isCurrent(): boolean }
  | { readonly ok: false; readonly reason: 'invalid' }
  /** The keys of the issuer cannot be fetched. */
  | { readonly ok: false; readonly reason: 'unavailable'; readonly retryAfterMs: number }

interface TokenRules {
  /** By their `iss`. Issuers may be added, replaced and removed. */
  readonly issuers: { get(name: string): TokenIssuer | undefined }
  readonly revocations: Revocations
  readonly clock: Clock
}

const MAX_TOKEN_LENGTH = 4096

export const INVALID = { ok: false, reason: 'invalid' } as const

/** Cheap checks come first: the keys of the issuer are fetched only for a token that could be valid. */
export async function verifyToken(
  token: string,
  verifyOwn: VerifyOwnSignature,
  { issuers, revocations, clock }: TokenRules,
): Promise<TokenResult> {
  const parsed = parseToken(token)
  const issuer = parsed && issuers.get(String(ownField(parsed.payload, 'iss')))
  const kid = parsed && ownField(parsed.header, 'kid')
  if (parsed === undefined || issuer === undefined || typeof kid !== 'string' || !issuer.acceptsHeader(parsed.header))
    return INVALID
  const checked = checkClaims(parsed.payload, issuer.rules, clock.wall())
  const claims = checked && issuer.completeClaims(checked, parsed)
  if (claims === undefined) return INVALID
  const lookup = await issuer.findKey(kid)
  if (!lookup.ok) return lookup.reason === 'unknown' ? INVALID : lookup
  const { key } = lookup
  const isSigned = ownField(parsed.header, 'alg') === key.algorithm && (await issuer.hasSigned(token, key, verifyOwn))
  const hasEnded = () => claims.expiresAt * 1000 <= clock.wall() || revocations.isRevoked(claims)
  if (!isSigned || hasEnded()) return INVALID
  // The issuer must still be accepted, and still have the key that signed the token.
  const hasCurrentKey = () => issuers.get(issuer.rules.issuer) === issuer && issuer.cachedKey(kid) === key.key
  return { ok: true, claims, payload: parsed.payload, isCurrent: () => hasCurrentKey() && !hasEnded() }
}

export interface ClaimRules {
  /** The `iss` of the tokens, exactly. */
  readonly issuer: string
  readonly audience: string
  /** Seconds between `iat` and `exp` at most. */
  readonly lifetime: number
  /** Some issuers send no `jti`. With `optional`, a digest of the token takes its place. */
  readonly jti: 'required' | 'optional'
}

interface Claims extends TokenIdentity {
  /** Seconds since 1970. */
  readonly expiresAt: number
}

/** The name of a user in a token. */
export const SUBJECT_PATTERN = /^[^\p{Cc}]{1,256}$/u

/** Returns the claims; `undefined` if one is missing, has the wrong type or breaks a rule. `now` in milliseconds. */
function checkClaims(payload: JsonObject, rules: ClaimRules, now: number): Claims | undefined {
  const subject = ownField(payload, 'sub')
  const jti = ownField(payload, 'jti') ?? (rules.jti === 'optional' ? '' : undefined)
  const expiresAt = ownField(payload, 'exp')
  const issuedAt = ownField(payload, 'iat')
  if (typeof subject !== 'string' || !SUBJECT_PATTERN.test(subject)) return undefined
  if (typeof jti !== 'string' || (jti === '' && rules.jti === 'required')) return undefined
  if (!isTimestamp(expiresAt) || !isTimestamp(issuedAt)) return undefined
  if (ownField(payload, 'iss') !== rules.issuer || !includesAudience(ownField(payload, 'aud'), rules.audience))
    return undefined
  const seconds = now / 1000
  const notBefore = ownField(payload, 'nbf') ?? issuedAt
  if (!isTimestamp(notBefore)) return undefined
  if (expiresAt <= seconds || expiresAt - issuedAt > rules.lifetime) return undefined
  if (Math.max(issuedAt, notBefore) > seconds + CLOCK_TOLERANCE_S) return undefined
  return { issuer: rules.issuer, subject, jti, issuedAt: issuedAt * 1000, expiresAt }
}

function isTimestamp(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0
}

function includesAudience(audience: unknown, wanted: string): boolean {
  if (!Array.isArray(audience)) return audience === wanted
  return audience.every((name) => typeof name === 'string') && audience.includes(wanted)
}

interface ParsedToken {
  readonly header: JsonObject
  readonly payload: JsonObject
  /** The text that the signature covers (RFC 7515 section 5.1). */
  readonly signingInput: string
}

const SEGMENTS = /^([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)$/

/** Brackets, and strings; with a colon behind it, a string is a name. Applied to valid JSON only. */
const JSON_TOKENS = /[{}[\]]|"((?:[^"\\]|\\.)*)"(\s*:)?/g

/** Parses a compact token of at most 4 KiB. Returns `undefined` for any text that is not exactly canonical. */
export function parseToken(token: string): ParsedToken | undefined {
  if (token.length > MAX_TOKEN_LENGTH) return undefined
  const [, first, second, third] = SEGMENTS.exec(token) ?? []
  if (first === undefined || second === undefined || third === undefined) return undefined
  const header = parseJsonObject(decodeSegment(first))
  const payload = parseJsonObject(decodeSegment(second))
  if (header === undefined || payload === undefined || decodeSegment(third) === undefined) return undefined
  return { header, payload, signingInput: `${first}.${second}` }
}

function decodeSegment(segment: string): Buffer | undefined {
  const bytes = Buffer.from(segment, 'base64url')
  return bytes.toString('base64url') === segment ? bytes : undefined
}

function parseJsonObject(bytes: Buffer | undefined): JsonObject | undefined {
  if (bytes === undefined || !isUtf8(bytes)) return undefined
  const text = bytes.toString()
  const value = parseJson(text)
  return isObject(value) && hasUniqueNames(text) ? value : undefined
}

/** Returns whether no object, at any depth and in any escaping, has the same name twice or the name `__proto__`. */
function hasUniqueNames(json: string): boolean {
  const open: Set<string>[] = []
  for (const [token, string, colon] of json.matchAll(JSON_TOKENS)) {
    if (token === '{' || token === '[') open.push(new Set())
    else if (token === '}' || token === ']') open.pop()
    else if (colon !== undefined) {
      const name: unknown = JSON.parse(`"${string}"`)
      const names = open.at(-1)
      if (typeof name !== 'string' || name === '__proto__' || names === undefined || names.has(name)) return false
      names.add(name)
    }
  }
  return true
}

export interface TokenIssuer {
  readonly rules: ClaimRules
  /** Returns the public key that is known now. */
  cachedKey(kid: string): IssuerKey['key'] | undefined
  findKey(kid: string): Promise<KeyLookup>
  /** `verifyOwn`: checks the token of this request, if the edge itself is the issuer. */
  hasSigned(token: string, key: IssuerKey, verifyOwn: VerifyOwnSignature): Promise<boolean>
  /** Returns whether the header is allowed, apart from `alg` and `kid`, which depend on the key. */
  acceptsHeader(header: JsonObject): boolean
  /** Applies the rules of this issuer to claims that passed the common rules. `undefined` refuses them. */
  completeClaims(claims: Claims, token: ParsedToken): Claims | undefined
}
