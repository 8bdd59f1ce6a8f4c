/** Sign-ins in progress: what the browser keeps from the redirect to an outside issuer until the issuer sends it back. */
import { randomUUID } from 'node:crypto'
import { growingLru } from '../core/recently-used.ts'
import type { Clock } from '../core/timing.ts'
import { ownField, ownText } from '../core/values.ts'
import type { JsonObject } from './issuer-keys.ts'
import type { Revocations } from './revocations.ts'
import type { SignedTexts } from './signed-texts.ts'

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
export const SIGN_IN_TIME_MS = 600_000
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
