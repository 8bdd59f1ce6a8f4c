/** Digests of names and addresses, which are not stored as text: a user may type a password as a name. */
import { createHmac } from 'node:crypto'

/** Returns 128 bits of a keyed digest. The length of each part precedes it. Without a key, anyone can compute it. */
export function createDigest(key: Buffer | undefined): (...parts: readonly string[]) => string {
  return (...parts) => {
    const hmac = createHmac('sha256', key ?? 'manager-edge')
    for (const part of parts) hmac.update(`${Buffer.byteLength(part)}:${part}`)
    return hmac.digest('base64url').slice(0, 22)
  }
}
