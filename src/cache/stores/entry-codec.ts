/** The form of stored bytes in Redis: version, head and body, with a checksum or encrypted. */
import { createCipheriv, createDecipheriv, createHash, createHmac, hash, randomBytes } from 'node:crypto'
import { concatOwn, onEachPart, SHORT_BYTES } from '../../core/long-values.ts'
import { type CooperativeTask, runAtOnce, runTask } from '../../core/turns.ts'
import { hasOwnBytes } from './local-entries.ts'

/**
 * The binary format of an entry in Redis: `ME`, version, form, two lengths, a check, then a JSON head and a raw body.
 * Another client of Redis can write anything there. Nothing is parsed before lengths and check are right. The check
 * covers the key name too, so an entry that was copied to another key is rejected.
 */
export type EntryCodec = ReturnType<typeof createEntryCodec>

export interface DecodedEntry {
  readonly head: unknown
  /** A copy: a short reply of Redis is a view of a larger buffer of the connection. */
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
export function createEntryCodec(encryptionKey?: Buffer) {
  const format = encryptionKey === undefined ? plain : encrypted(encryptionKey)
  return {
    /** Returns bytes that `decode` accepts under the same name only. `head` is serialised as JSON. A promise: a long body. */
    encode: (name: string, head: unknown, body: Buffer): Buffer | Promise<Buffer> =>
      runTask(encode(format, name, head, body)),
    /** Returns head and body; undefined for anything that `encode` did not write. A promise: long bytes. */
    decode: (name: string, bytes: Buffer): DecodedEntry | undefined | Promise<DecodedEntry | undefined> =>
      runTask(decode(format, name, bytes)),
    /** The same for a head without a body. */
    encodeHead: (name: string, head: unknown): Buffer => runAtOnce(encode(format, name, head, NO_BODY)),
    decodeHead: (name: string, bytes: Buffer): unknown => runAtOnce(decode(format, name, bytes))?.head,
  }
}

const NO_BODY = Buffer.alloc(0)

function* encode(format: EntryForm, name: string, head: unknown, body: Buffer): CooperativeTask<Buffer> {
  const text = Buffer.from(JSON.stringify(head))
  const fixed = Buffer.allocUnsafe(FIXED_BYTES)
  fixed.write('ME', 'latin1')
  fixed[2] = VERSION
  fixed[3] = format.form
  fixed.writeUInt32BE(text.length, 4)
  fixed.writeUInt32BE(body.length, 8)
  const chunks = [fixed, ...(yield* format.seal(associatedData(name, fixed), text, body))]
  return body.length <= SHORT_BYTES ? Buffer.concat(chunks) : yield* concatenated(chunks)
}

function* decode(format: EntryForm, name: string, bytes: Buffer): CooperativeTask<DecodedEntry | undefined> {
  const { overhead } = format
  const contentAt = FIXED_BYTES + overhead
  if (bytes.length < contentAt || bytes.toString('latin1', 0, 2) !== 'ME') return undefined
  if (bytes[2] !== VERSION || bytes[3] !== format.form) return undefined
  const length = bytes.readUInt32BE(4)
  if (bytes.length !== contentAt + length + bytes.readUInt32BE(8)) return undefined
  const associated = associatedData(name, bytes.subarray(0, FIXED_BYTES))
  const [head, body] = [bytes.subarray(contentAt, contentAt + length), bytes.subarray(contentAt + length)]
  try {
    const content = yield* format.open(associated, bytes.subarray(FIXED_BYTES, contentAt), head, body)
    return content && { head: JSON.parse(content.head.toString()), body: yield* concatenated(content.body) }
  } catch {
    return undefined
  }
}

function* concatenated(chunks: readonly Buffer[]): CooperativeTask<Buffer> {
  const [first] = chunks
  if (first !== undefined && chunks.length === 1 && hasOwnBytes(first)) return first
  const whole = concatOwn(chunks)
  return whole instanceof Promise ? ((yield whole) as Buffer) : whole
}

interface EntryForm {
  readonly form: number
  /** Bytes between the fixed part and the content. */
  readonly overhead: number
  seal(associated: Buffer, head: Buffer, body: Buffer): CooperativeTask<readonly Buffer[]>
  /** Returns the content, the body in chunks; or undefined (or throws) if it was changed. `before`: what is between. */
  open(
    associated: Buffer,
    before: Buffer,
    head: Buffer,
    body: Buffer,
  ): CooperativeTask<{ readonly head: Buffer; readonly body: readonly Buffer[] } | undefined>
}

/** Returns what the check covers besides the content. The fixed part has a constant length: no delimiter is needed. */
function associatedData(name: string, fixed: Buffer): Buffer {
  return Buffer.concat([fixed, Buffer.from(name)])
}

const plain: EntryForm = {
  form: PLAIN,
  overhead: CHECK_BYTES,
  *seal(associated, head, body) {
    return [yield* digest(associated, head, body), head, body]
  },
  *open(associated, check, head, body) {
    return (yield* digest(associated, head, body)).equals(check) ? { head, body: [body] } : undefined
  },
}

/** Hashes the length of `associated` first. Otherwise the end of a name could pass for the beginning of a head. */
function* digest(associated: Buffer, head: Buffer, body: Buffer): CooperativeTask<Buffer> {
  const start = [Buffer.from(`${associated.length}:`), associated, head]
  // As a text: Node.js takes longer to make a Buffer of it than to hash a short body.
  if (body.length <= SHORT_BYTES)
    return Buffer.from(hash('sha256', Buffer.concat([...start, body]), 'hex').slice(0, 2 * CHECK_BYTES), 'hex')
  const long = createHash('sha256').update(Buffer.concat(start))
  yield* onEachPart(body, (part) => long.update(part))
  return long.digest().subarray(0, CHECK_BYTES)
}

function encrypted(secret: Buffer): EntryForm {
  const master = createHmac('sha256', secret).update('manager-edge cache entries').digest()
  // One key per entry: random nonces under a single key are safe for 2^32 entries only (NIST SP 800-38D, 8.3).
  const keyFor = (salt: Buffer) => createHmac('sha256', master).update(salt).digest()
  return {
    form: ENCRYPTED,
    overhead: SALT_BYTES + NONCE_BYTES + CHECK_BYTES,
    *seal(associated, head, body) {
      const salt = randomBytes(SALT_BYTES)
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv('aes-256-gcm', keyFor(salt), nonce, { authTagLength: CHECK_BYTES }).setAAD(
        associated,
      )
      const content = [cipher.update(head)]
      yield* onEachPart(body, (part) => content.push(cipher.update(part)))
      content.push(cipher.final())
      return [salt, nonce, cipher.getAuthTag(), ...content]
    },
    *open(associated, before, head, body) {
      const salt = before.subarray(0, SALT_BYTES)
      const nonce = before.subarray(SALT_BYTES, SALT_BYTES + NONCE_BYTES)
      const decipher = createDecipheriv('aes-256-gcm', keyFor(salt), nonce, { authTagLength: CHECK_BYTES }).setAAD(
        associated,
      )
      decipher.setAuthTag(before.subarray(SALT_BYTES + NONCE_BYTES))
      const content = { head: decipher.update(head), body: [] as Buffer[] }
      yield* onEachPart(body, (part) => content.body.push(decipher.update(part)))
      // `final` throws if a bit was changed. The content is not used before.
      decipher.final()
      return content
    },
  }
}
