/** Tokens made by hand, for what no decent issuer would sign. */
import { type KeyObject, sign } from 'node:crypto'

export const segment = (value: unknown) =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')

/** Header and claims as objects or as JSON text; signed whatever the header says. */
export function forge(header: unknown, claims: unknown, key: KeyObject, digest: string | null = null): string {
  const signed = `${segment(header)}.${segment(claims)}`
  const signature = sign(digest, Buffer.from(signed), { key, dsaEncoding: 'ieee-p1363' })
  return `${signed}.${signature.toString('base64url')}`
}
