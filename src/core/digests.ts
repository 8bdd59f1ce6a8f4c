/** Digests by which replicas notice that they were given different settings or files. */
import { createHash } from 'node:crypto'

/** Names of settings → digests of what they say. */
export type SettingDigests = Readonly<Record<string, string>>

const DIGEST_CHARS = 11

/** The text must be no secret, or have at least 128 random bits: other programs may read the digest in Redis. */
export function digestText(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, DIGEST_CHARS)
}
