/** Forged tokens, which no correct issuer would sign. */
import { type KeyObject, sign } from 'node:crypto'

export const segment = (value: unknown) =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')

/** Signs a token. Header and claims are objects or JSON text; the header does not change how it is signed. */
export function forge(header: unknown, claims: unknown, key: KeyObject, digest: string | null = null): string {
  const signed = `${segment(header)}.${segment(claims)}`
  const signature = sign(digest, Buffer.from(signed), { key, dsaEncoding: 'ieee-p1363' })
  return `${signed}.${signature.toString('base64url')}`
}
