/** What a token must say of itself. Pure: the signature is somebody else's. */
import { type Members, member } from './jws.ts'
import type { TokenFacts } from './revocations.ts'

export interface ClaimRules {
  readonly issuer: string
  readonly audience: string
  /** Seconds: the greatest distance of `exp` and `iat`. */
  readonly lifetime: number
  readonly jti: 'required' | 'optional'
}

export interface Claims extends TokenFacts {
  /** Seconds since 1970. */
  readonly expiresAt: number
}

/** Seconds by which the clocks of issuer and edge may differ. */
export const clockTolerance = 5
const SUBJECT = /^[^\p{Cc}]{1,256}$/u

/** The claims in our words, or `undefined` when one is missing, of the wrong kind, or beyond the rules. `now` in milliseconds. */
export function checkClaims(claims: Members, rules: ClaimRules, now: number): Claims | undefined {
  const subject = member(claims, 'sub')
  const jti = member(claims, 'jti') ?? (rules.jti === 'optional' ? '' : undefined)
  const expiresAt = member(claims, 'exp')
  const issuedAt = member(claims, 'iat')
  if (typeof subject !== 'string' || !SUBJECT.test(subject)) return undefined
  if (typeof jti !== 'string' || (jti === '' && rules.jti === 'required')) return undefined
  if (!isSecond(expiresAt) || !isSecond(issuedAt)) return undefined
  if (member(claims, 'iss') !== rules.issuer || !names(member(claims, 'aud'), rules.audience)) return undefined
  const seconds = now / 1000
  const notBefore = member(claims, 'nbf') ?? issuedAt
  if (!isSecond(notBefore)) return undefined
  if (expiresAt <= seconds || expiresAt - issuedAt > rules.lifetime) return undefined
  if (Math.max(issuedAt, notBefore) > seconds + clockTolerance) return undefined
  return { issuer: rules.issuer, subject, jti, issuedAt: issuedAt * 1000, expiresAt }
}

function isSecond(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0
}

function names(audience: unknown, wanted: string): boolean {
  if (!Array.isArray(audience)) return audience === wanted
  return audience.every((name) => typeof name === 'string') && audience.includes(wanted)
}
