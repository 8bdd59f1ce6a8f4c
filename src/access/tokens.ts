import { isUtf8 } from 'node:buffer'
import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Clock } from '../core/timing.ts'
import type { Revocations, TokenFacts } from './revocations.ts'
import type { TokenIssuer } from './token-issuers.ts'

/**
 * Bearer tokens, decided. The signature is checked by a library that is handed in; everything that libraries leave
 * open is checked here, and what was once found good is remembered by digest until it ends or its key goes.
 */

/** Is the token that is under way signed by this key (PEM)? */
export type Signed = (pem: string) => Promise<boolean>

export type Shown =
  /** `stands`: the same token need not be looked at again. */
  | { readonly ok: true; readonly claims: Claims; readonly members: Members; stands(): boolean }
  | { readonly ok: false; readonly reason: 'invalid' }
  /** The keys of its issuer cannot be had; milliseconds until it is worth to come again. */
  | { readonly ok: false; readonly reason: 'unavailable'; readonly after: number }

export interface TokensOptions {
  /** By their `iss`. */
  readonly issuers: ReadonlyMap<string, TokenIssuer>
  readonly revocations: Revocations
  readonly clock: Clock
}

interface Good {
  readonly claims: Claims
  readonly members: Members
  readonly issuer: TokenIssuer
  readonly kid: string
  readonly pem: string
}

const REMEMBERED = 5000
const LONGEST = 4096
const invalid = { ok: false, reason: 'invalid' } as const

export class Tokens {
  readonly #options: TokensOptions
  readonly #good = new LRUCache<string, Good>({ max: REMEMBERED })

  constructor(options: TokensOptions) {
    this.#options = options
  }

  async show(token: string, signed: Signed): Promise<Shown> {
    if (token.length > LONGEST) return invalid
    const digest = hash('sha256', token, 'base64')
    const remembered = this.#good.get(digest)
    // The key may have been taken away since.
    const stands = remembered !== undefined && isKnown(remembered)
    const found = stands ? remembered : await this.#verify(token, signed)
    if ('ok' in found) return found
    if (!stands) this.#good.set(digest, found)
    const { claims, members } = found
    if (this.#isOver(claims)) return invalid
    return { ok: true, claims, members, stands: () => isKnown(found) && !this.#isOver(claims) }
  }

  #isOver(claims: Claims): boolean {
    const { clock, revocations } = this.#options
    return claims.expiresAt * 1000 <= clock.wall() || revocations.isRevoked(claims)
  }

  /** Cheap checks first: the issuer is asked for keys only for a token that could be good. */
  async #verify(token: string, signed: Signed): Promise<Good | Exclude<Shown, { ok: true }>> {
    const read = readToken(token)
    const issuer = read && this.#options.issuers.get(String(member(read.claims, 'iss')))
    const kid = read && member(read.header, 'kid')
    if (read === undefined || issuer === undefined || typeof kid !== 'string' || !issuer.takes(read.header))
      return invalid
    const kept = checkClaims(read.claims, issuer.rules, this.#options.clock.wall())
    const claims = kept && issuer.complete(kept, read)
    if (claims === undefined) return invalid
    const answer = await issuer.find(kid)
    if (!answer.ok) return answer.reason === 'unknown' ? invalid : answer
    const { pem, algorithm } = answer.key
    if (member(read.header, 'alg') !== algorithm || !(await signed(pem))) return invalid
    return { claims, members: read.claims, issuer, kid, pem }
  }
}

/** Is the key that the token is signed with still one of its issuer's? */
function isKnown({ issuer, kid, pem }: Good): boolean {
  return issuer.known(kid) === pem
}

/** What a token must say of itself. Pure: the signature is somebody else's. */

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

/**
 * A token's text, read so strictly that each token has one spelling and one meaning (RFC 7515, RFC 8725). Libraries
 * take more: a second `sub` wins in one parser and loses in the next, and the last character of a segment has spare
 * bits that change the text of a token but not its signature.
 */

export type Members = Readonly<Record<string, unknown>>

export interface ReadToken {
  readonly header: Members
  readonly claims: Members
  /** What the signature covers. */
  readonly signed: string
}

const GREATEST_LENGTH = 4096
const SEGMENTS = /^([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)$/
/** Brackets, and strings with the colon that makes them names. Used on valid JSON only. */
const TOKENS = /[{}[\]]|"((?:[^"\\]|\\.)*)"(\s*:)?/g

/** Header and claims of a compact token of at most 4 KiB; `undefined` for anything out of the ordinary. */
export function readToken(token: string): ReadToken | undefined {
  if (token.length > GREATEST_LENGTH) return undefined
  const [, first, second, third] = SEGMENTS.exec(token) ?? []
  if (first === undefined || second === undefined || third === undefined) return undefined
  const header = readMembers(decode(first))
  const claims = readMembers(decode(second))
  if (header === undefined || claims === undefined || decode(third) === undefined) return undefined
  return { header, claims, signed: `${first}.${second}` }
}

/** The member itself, never an inherited one. */
export function member(members: Members, name: string): unknown {
  return Object.hasOwn(members, name) ? members[name] : undefined
}

function decode(segment: string): Buffer | undefined {
  const bytes = Buffer.from(segment, 'base64url')
  return bytes.toString('base64url') === segment ? bytes : undefined
}

function readMembers(bytes: Buffer | undefined): Members | undefined {
  if (bytes === undefined || !isUtf8(bytes)) return undefined
  const text = bytes.toString('utf8')
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
    return hasOnlyOwnNames(text) ? (value as Members) : undefined
  } catch {
    return undefined
  }
}

/** No object names a member twice or `__proto__`, at any depth and however it is escaped. */
function hasOnlyOwnNames(json: string): boolean {
  const open: Set<string>[] = []
  for (const [token, string, colon] of json.matchAll(TOKENS)) {
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
