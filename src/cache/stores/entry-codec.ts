/**
 * The binary format of an entry in Redis: `ME`, version, form, two lengths, a check, then a JSON head and a raw body.
 * Another client of Redis can write anything there. Nothing is parsed before lengths and check are right. The check
 * covers the key name too, so an entry that was copied to another key is rejected.
 */
import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

export interface EntryCodec {
  /** Returns bytes that `decode` accepts under the same name only. `head` is serialised as JSON. */
  encode(name: string, head: unknown, body: Buffer): Buffer
  /** Returns head and body (a view of `bytes`, or decrypted); undefined for anything that `encode` did not write. */
  decode(name: string, bytes: Buffer): DecodedEntry | undefined
}

export interface DecodedEntry {
  readonly head: unknown
  readonly body: Buffer
}

const VERSION = 1
const PLAIN = 0
const ENCRYPTED = 1
/** Magic 2, version 1, form 1, length of the head 4, length of the body 4. */
const FIXED_BYTES = 12
const CHECK_BYTES = 16
const SALT_BYTES = 16
const NONCE_BYTES = 12

/**
 * With an encryption key (any length, unknown to Redis), entries are encrypted with AES-256-GCM. Without one, they
 * carry a SHA-256 check against damage.
 */
export function createEntryCodec(encryptionKey?: Buffer): EntryCodec {
  const format = encryptionKey === undefined ? plain : encrypted(encryptionKey)
  return {
    encode(name, head, body) {
      const text = Buffer.from(JSON.stringify(head))
      const fixed = Buffer.alloc(FIXED_BYTES)
      fixed.write('ME', 'latin1')
      fixed[2] = VERSION
      fixed[3] = format.form
      fixed.writeUInt32BE(text.length, 4)
      fixed.writeUInt32BE(body.length, 8)
      return Buffer.concat([fixed, ...format.seal(associatedData(name, fixed), text, body)])
    },
    decode(name, bytes) {
      const { overhead } = format
      if (bytes.length < FIXED_BYTES + overhead || bytes.toString('latin1', 0, 2) !== 'ME') return undefined
      if (bytes[2] !== VERSION || bytes[3] !== format.form) return undefined
      const length = bytes.readUInt32BE(4)
      if (bytes.length !== FIXED_BYTES + overhead + length + bytes.readUInt32BE(8)) return undefined
      try {
        const content = format.open(associatedData(name, bytes.subarray(0, FIXED_BYTES)), bytes.subarray(FIXED_BYTES))
        if (content === undefined) return undefined
        return { head: JSON.parse(content.toString('utf8', 0, length)), body: content.subarray(length) }
      } catch {
        return undefined
      }
    },
  }
}

interface EntryForm {
  readonly form: number
  /** Bytes between the fixed part and the content. */
  readonly overhead: number
  seal(associated: Buffer, head: Buffer, body: Buffer): readonly Buffer[]
  /** Returns the content, or undefined (or throws) if it was changed. */
  open(associated: Buffer, bytes: Buffer): Buffer | undefined
}

/** Returns what the check covers besides the content. The fixed part has a constant length: no delimiter is needed. */
function associatedData(name: string, fixed: Buffer): Buffer {
  return Buffer.concat([fixed, Buffer.from(name)])
}

const plain: EntryForm = {
  form: PLAIN,
  overhead: CHECK_BYTES,
  seal: (associated, head, body) => [digest(associated, head, body), head, body],
  open(associated, bytes) {
    const content = bytes.subarray(CHECK_BYTES)
    return timingSafeEqual(digest(associated, content), bytes.subarray(0, CHECK_BYTES)) ? content : undefined
  },
}

/** Hashes the length of `associated` first. Otherwise the end of a name could pass for the beginning of a head. */
function digest(associated: Buffer, ...parts: readonly Buffer[]): Buffer {
  const hash = createHash('sha256').update(`${associated.length}:`).update(associated)
  for (const part of parts) hash.update(part)
  return hash.digest().subarray(0, CHECK_BYTES)
}

function encrypted(secret: Buffer): EntryForm {
  const master = createHmac('sha256', secret).update('manager-edge cache entries').digest()
  // One key per entry: random nonces under a single key are safe for 2^32 entries only (NIST SP 800-38D, 8.3).
  const keyFor = (salt: Buffer) => createHmac('sha256', master).update(salt).digest()
  return {
    form: ENCRYPTED,
    overhead: SALT_BYTES + NONCE_BYTES + CHECK_BYTES,
    seal(associated, head, body) {
      const salt = randomBytes(SALT_BYTES)
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv('aes-256-gcm', keyFor(salt), nonce, { authTagLength: CHECK_BYTES }).setAAD(
        associated,
      )
      const content = [cipher.update(head), cipher.update(body), cipher.final()]
      return [salt, nonce, cipher.getAuthTag(), ...content]
    },
    open(associated, bytes) {
      const salt = bytes.subarray(0, SALT_BYTES)
      const nonce = bytes.subarray(SALT_BYTES, SALT_BYTES + NONCE_BYTES)
      const decipher = createDecipheriv('aes-256-gcm', keyFor(salt), nonce, { authTagLength: CHECK_BYTES }).setAAD(
        associated,
      )
      decipher.setAuthTag(bytes.subarray(SALT_BYTES + NONCE_BYTES, SALT_BYTES + NONCE_BYTES + CHECK_BYTES))
      // `final` throws if a bit was changed. The content is not used before.
      return Buffer.concat([decipher.update(bytes.subarray(SALT_BYTES + NONCE_BYTES + CHECK_BYTES)), decipher.final()])
    },
  }
}
