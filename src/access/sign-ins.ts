/** Sign-ins in progress: what the browser keeps from the redirect to an outside issuer until the issuer sends it back. */
import { randomUUID } from 'node:crypto'
import type { Clock } from '../core/timing.ts'
import { ownField, ownText } from '../core/values.ts'
import type { JsonObject } from './issuer-keys.ts'
import type { Revocations } from './revocations.ts'
import type { SignedTexts } from './signed-texts.ts'

export interface SignIns {
  /** Returns a text for a cookie. */
  remember(progress: JsonObject): string
  /** Returns what `remember` got, once: `undefined` for a text that was taken before, expired or was forged. */
  take(text: string): Promise<JsonObject | undefined>
}

/** Time for the user to type a password and a second factor at the issuer. */
export const SIGN_IN_TIME_MS = 600_000
const TYPE = 'edge-sign-in+jwt'
/** In the list of revocations. */
const REVOCATION_ISSUER = 'manager-edge sign-in'

export function createSignIns(
  texts: SignedTexts,
  { revocations, clock }: { readonly revocations: Revocations; readonly clock: Clock },
): SignIns {
  return {
    remember: (progress) => texts.sign(TYPE, { progress, id: randomUUID() }, clock.wall() + SIGN_IN_TIME_MS),
    async take(text) {
      const claims = texts.open(TYPE, text)
      const id = ownText(claims, 'id')
      const progress = ownField(claims, 'progress')
      if (id === undefined || typeof progress !== 'object' || progress === null) return undefined
      if (revocations.isRevoked({ issuer: REVOCATION_ISSUER, subject: '', jti: id, issuedAt: clock.wall() }))
        return undefined
      await revocations.revoke(REVOCATION_ISSUER, id, clock.wall() + SIGN_IN_TIME_MS)
      return progress as JsonObject
    },
  }
}
