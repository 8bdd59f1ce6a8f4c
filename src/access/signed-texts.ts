/**
 * Texts that the edge signs and a browser keeps: console sessions, and sign-ins in progress. They are JWTs (RFC 7519)
 * with a type of their own (RFC 8725 section 3.11), so that no other token of the edge is accepted in their place.
 */
import { randomUUID, sign, verify } from 'node:crypto'
import { OWN_TOKEN_ALGORITHM } from '../core/access.ts'
import { growingLru } from '../core/recently-used.ts'
import type { Clock } from '../core/timing.ts'
import { ownField, ownText } from '../core/values.ts'
import type { JsonObject } from './issuer-keys.ts'
import type { Revocations } from './revocations.ts'
import type { KeyRing } from './signing-keys.ts'
import { parseToken } from './tokens.ts'

/** The value of the header `typ`. */
export type SignedTextType = 'edge-session+jwt' | 'edge-sign-in+jwt'

export interface SignedTexts {
  /** `until`: milliseconds since 1970. The text is readable for its owner, so it must contain no secret of the edge. */
  sign(type: SignedTextType, claims: JsonObject, until: number): string
  /** Returns the claims, or `undefined` if the text has expired, has another type or another signer. */
  open(type: SignedTextType, text: string): JsonObject | undefined
}

const SECOND_MS = 1000

export function createSignedTexts(keys: KeyRing, clock: Clock): SignedTexts {
  return {
    sign(type, claims, until) {
      const { kid, pem } = keys.signingKey()
      const header = encode({ alg: OWN_TOKEN_ALGORITHM, typ: type, kid })
      const input = `${header}.${encode({ ...claims, exp: Math.floor(until / SECOND_MS) })}`
      return `${input}.${sign(null, Buffer.from(input), pem).toString('base64url')}`
    },
    open(type, text) {
      const parsed = parseToken(text)
      if (parsed === undefined) return undefined
      const { header, payload, signingInput } = parsed
      const kid = ownField(header, 'kid')
      if (ownField(header, 'typ') !== type || ownField(header, 'alg') !== OWN_TOKEN_ALGORITHM) return undefined
      const pem = typeof kid === 'string' ? keys.publicKey(kid) : undefined
      const expiresAt = ownField(payload, 'exp')
      if (pem === undefined || typeof expiresAt !== 'number') return undefined
      const signature = Buffer.from(text.slice(signingInput.length + 1), 'base64url')
      if (!verify(null, Buffer.from(signingInput), pem, signature)) return undefined
      return expiresAt * SECOND_MS > clock.wall() ? payload : undefined
    },
  }
}

function encode(value: JsonObject): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

/** What the browser keeps from the redirect to an outside issuer until the issuer sends it back. */
export interface SignIns {
  /** Returns a text for a cookie. */
  remember(progress: JsonObject): string
  /** Returns what `remember` got, once: `undefined` for a text that was taken before, expired or was forged. */
  take(text: string): TakenSignIn | undefined
}

export interface TakenSignIn {
  readonly progress: JsonObject
  /** Takes the text on all replicas. To be called when the issuer has signed the user in. */
  complete(): Promise<void>
}

/** Time for the user to type a password and a second factor at the issuer. */
const SIGN_IN_TIME_MS = 600_000
const TYPE = 'edge-sign-in+jwt'
/**
 * Anyone can start sign-ins and not complete them, so those are remembered in this process only, in bounded memory. One
 * that is forgotten can be tried again: the code of the issuer, the state and the verifier protect it as before.
 */
const MAX_TAKEN = 10_000
/** In the list of revocations. */
const REVOCATION_ISSUER = 'manager-edge sign-in'

export function createSignIns(
  texts: SignedTexts,
  { revocations, clock }: { readonly revocations: Revocations; readonly clock: Clock },
): SignIns {
  const taken = growingLru<string, true>(MAX_TAKEN)
  return {
    remember: (progress) => texts.sign(TYPE, { progress, id: randomUUID() }, clock.wall() + SIGN_IN_TIME_MS),
    take(text) {
      const claims = texts.open(TYPE, text)
      const id = ownText(claims, 'id')
      const progress = ownField(claims, 'progress')
      if (id === undefined || typeof progress !== 'object' || progress === null) return undefined
      const identity = { issuer: REVOCATION_ISSUER, subject: '', jti: id, issuedAt: clock.wall() }
      if (taken.has(id) || revocations.isRevoked(identity)) return undefined
      taken.set(id, true)
      return {
        progress: progress as JsonObject,
        async complete() {
          await revocations.revoke(REVOCATION_ISSUER, id, clock.wall() + SIGN_IN_TIME_MS)
        },
      }
    },
  }
}
