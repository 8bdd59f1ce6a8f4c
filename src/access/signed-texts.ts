/**
 * Texts that the edge signs for itself: JWTs (RFC 7519) with their own type (RFC 8725 section 3.11), so that no other
 * token of the edge is accepted in their place.
 */
import { sign, verify } from 'node:crypto'
import type { SignedTexts, TokenAlgorithm } from '../core/access.ts'
import type { Clock } from '../core/timing.ts'
import { type JsonObject, ownField } from '../core/values.ts'
import type { KeyRing } from './signing-keys.ts'
import { parseToken } from './tokens.ts'

/** The algorithm of the edge's own tokens: Ed25519. */
export const OWN_TOKEN_ALGORITHM: TokenAlgorithm = 'EdDSA'

const SECOND_MS = 1000

export function createSignedTexts(keys: KeyRing, clock: Clock): SignedTexts {
  return {
    sign(type, claims, until) {
      const { kid, key } = keys.signingKey()
      const header = encode({ alg: OWN_TOKEN_ALGORITHM, typ: type, kid })
      const input = `${header}.${encode({ ...claims, exp: Math.floor(until / SECOND_MS) })}`
      return `${input}.${sign(null, Buffer.from(input), key).toString('base64url')}`
    },
    open(type, text) {
      const parsed = parseToken(text)
      if (parsed === undefined) return undefined
      const { header, payload, signingInput } = parsed
      const kid = ownField(header, 'kid')
      if (ownField(header, 'typ') !== type || ownField(header, 'alg') !== OWN_TOKEN_ALGORITHM) return undefined
      const key = typeof kid === 'string' ? keys.publicKey(kid) : undefined
      const expiresAt = ownField(payload, 'exp')
      if (key === undefined || typeof expiresAt !== 'number') return undefined
      const signature = Buffer.from(text.slice(signingInput.length + 1), 'base64url')
      if (!verify(null, Buffer.from(signingInput), key, signature)) return undefined
      return expiresAt * SECOND_MS > clock.wall() ? payload : undefined
    },
  }
}

function encode(value: JsonObject): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}
