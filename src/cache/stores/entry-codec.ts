/**
 * The bytes of a kept thing in Redis: `ME`, version, form, two lengths, a check, then a JSON head and a raw body.
 * Whoever can write to Redis can put anything there, so nothing of it is believed before lengths and check agree, and
 * the check covers the name that the bytes are stored under: moved to another name they are garbage as well.
 */
import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

export interface EntryCodec {
  /** Bytes that only `decode` under the same name takes back. `head` must survive JSON. */
  encode(name: string, head: unknown, body: Buffer): Buffer
  /** The head and the body (a view of `bytes`, or opened); undefined for anything that `encode` did not write. */
  decode(name: string, bytes: Buffer): Opened | undefined
}

export interface Opened {
  readonly head: unknown
  readonly body: Buffer
}

const VERSION = 1
const PLAIN = 0
const SEALED = 1
/** Magic 2, version 1, form 1, length of the head 4, length of the body 4. */
const FIXED = 12
const CHECK = 16
const SALT = 16
const NONCE = 12

/** With a key (any length, kept from Redis), entries are sealed by AES-256-GCM; without, they carry a SHA-256 check. */
export function entryCodec(encryptionKey?: Buffer): EntryCodec {
  const inner = encryptionKey === undefined ? plain : sealed(encryptionKey)
  return {
    encode(name, head, body) {
      const text = Buffer.from(JSON.stringify(head))
      const fixed = Buffer.alloc(FIXED)
      fixed.write('ME', 'latin1')
      fixed[2] = VERSION
      fixed[3] = inner.form
      fixed.writeUInt32BE(text.length, 4)
      fixed.writeUInt32BE(body.length, 8)
      return Buffer.concat([fixed, ...inner.close(about(name, fixed), text, body)])
    },
    decode(name, bytes) {
      const extra = inner.extra
      if (bytes.length < FIXED + extra || bytes.toString('latin1', 0, 2) !== 'ME') return undefined
      if (bytes[2] !== VERSION || bytes[3] !== inner.form) return undefined
      const length = bytes.readUInt32BE(4)
      if (bytes.length !== FIXED + extra + length + bytes.readUInt32BE(8)) return undefined
      try {
        const content = inner.open(about(name, bytes.subarray(0, FIXED)), bytes.subarray(FIXED))
        if (content === undefined) return undefined
        return { head: JSON.parse(content.toString('utf8', 0, length)), body: content.subarray(length) }
      } catch {
        return undefined
      }
    },
  }
}

interface Form {
  readonly form: number
  /** Bytes between the fixed part and the content. */
  readonly extra: number
  close(about: Buffer, head: Buffer, body: Buffer): readonly Buffer[]
  open(about: Buffer, bytes: Buffer): Buffer | undefined
}

/** What the check covers beside the content. The fixed part has a fixed length, so no delimiter is needed. */
function about(name: string, fixed: Buffer): Buffer {
  return Buffer.concat([fixed, Buffer.from(name)])
}

const plain: Form = {
  form: PLAIN,
  extra: CHECK,
  close: (about, head, body) => [digest(about, head, body), head, body],
  open(about, bytes) {
    const content = bytes.subarray(CHECK)
    return timingSafeEqual(digest(about, content), bytes.subarray(0, CHECK)) ? content : undefined
  },
}

/** The length of `about` goes in front: without it, the end of a name could pass for the beginning of a head. */
function digest(about: Buffer, ...parts: readonly Buffer[]): Buffer {
  const hash = createHash('sha256').update(`${about.length}:`).update(about)
  for (const part of parts) hash.update(part)
  return hash.digest().subarray(0, CHECK)
}

function sealed(secret: Buffer): Form {
  const master = createHmac('sha256', secret).update('manager-edge cache entries').digest()
  // A key for each entry: random nonces under one key would have to stop after 2^32 entries (NIST SP 800-38D, 8.3).
  const keyFor = (salt: Buffer) => createHmac('sha256', master).update(salt).digest()
  return {
    form: SEALED,
    extra: SALT + NONCE + CHECK,
    close(about, head, body) {
      const salt = randomBytes(SALT)
      const nonce = randomBytes(NONCE)
      const cipher = createCipheriv('aes-256-gcm', keyFor(salt), nonce, { authTagLength: CHECK }).setAAD(about)
      const content = [cipher.update(head), cipher.update(body), cipher.final()]
      return [salt, nonce, cipher.getAuthTag(), ...content]
    },
    open(about, bytes) {
      const salt = bytes.subarray(0, SALT)
      const nonce = bytes.subarray(SALT, SALT + NONCE)
      const decipher = createDecipheriv('aes-256-gcm', keyFor(salt), nonce, { authTagLength: CHECK }).setAAD(about)
      decipher.setAuthTag(bytes.subarray(SALT + NONCE, SALT + NONCE + CHECK))
      // `final` throws when a bit was changed; nothing of the content is used before.
      return Buffer.concat([decipher.update(bytes.subarray(SALT + NONCE + CHECK)), decipher.final()])
    },
  }
}
