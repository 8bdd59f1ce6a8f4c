/**
 * Bearer tokens, decided. The signature is checked by a library that is handed in; everything that libraries leave
 * open is checked here, and what was once found good is remembered by digest until it ends or its key goes.
 */
import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Clock } from '../core/timing.ts'
import { type Claims, checkClaims } from './claims.ts'
import type { TokenIssuer } from './issuers.ts'
import { type Members, member, readToken } from './jws.ts'
import type { Revocations } from './revocations.ts'

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
