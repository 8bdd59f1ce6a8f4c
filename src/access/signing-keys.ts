/**
 * The keys that sign and verify the edge's own tokens: a folder of `<kid>.pem`, shared by all replicas. The last
 * private key by name signs, all keys verify; a public key only verifies. To rotate without a gap, first add the new
 * key to every replica as a public key, then as a private key. Remove the old key when its tokens have expired.
 */
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto'
import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Log } from '../core/events.ts'
import { digestText } from '../core/settings.ts'
import { fingerprintFolder, watchFiles } from '../file-watcher.ts'

/** A private key and the `kid` of its tokens. */
interface SigningKey {
  readonly kid: string
  readonly key: KeyObject
}

export interface KeyRing {
  signingKey(): SigningKey
  /** Returns the public key with this `kid`, if there is one: the same object until the keys change. */
  publicKey(kid: string): KeyObject | undefined
  /** Returns a digest of all public keys. */
  digest(): string
  close(): void
}

interface Keys {
  readonly signingKey: SigningKey
  readonly publicKeys: ReadonlyMap<string, KeyObject>
  readonly digest: string
}

const FILE_EXTENSION = '.pem'
const KID_PATTERN = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/
const HOW_TO_CREATE = '`manager-edge token key FOLDER` creates one'

/**
 * Loads a folder of keys and reloads it when it changes. Rejects if the folder holds no private key or any file that
 * cannot be read. If that happens later, the last valid keys stay in use.
 */
export async function watchSigningKeys(folder: string, log: Log): Promise<KeyRing> {
  const watched = await watchFiles({
    folder,
    fingerprint: () => fingerprintFolder(folder, FILE_EXTENSION),
    load: () => loadKeys(folder, log),
    onReload: (now) =>
      log('info', 'signing keys reloaded', { folder, signer: now.signingKey.kid, keys: now.publicKeys.size }),
    onError: (error) =>
      log('error', 'signing keys cannot be reloaded, the last valid keys stay in use', {
        folder,
        fault: error instanceof Error ? error.message : String(error),
      }),
  })
  return {
    signingKey: () => watched.current().signingKey,
    publicKey: (kid) => watched.current().publicKeys.get(kid),
    digest: () => watched.current().digest,
    close: () => watched.close(),
  }
}

/** Creates one key that exists only in this process. */
export function createEphemeralKeys(log: Log): KeyRing {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const kid = `process-${randomBytes(8).toString('hex')}`
  const signingKey = { kid, key: privateKey }
  log('warn', 'access.tokens.keys is not set: tokens end when this replica stops, and other replicas refuse them')
  return {
    signingKey: () => signingKey,
    publicKey: (other) => (other === kid ? publicKey : undefined),
    digest: () => digestOf(new Map([[kid, publicKey]])),
    close: () => {},
  }
}

/**
 * Creates a new key file (mode 0600) whose name sorts after all others, so that its key signs. Returns its path. Rejects
 * if the folder holds a name that is later than the clock.
 */
export async function createKeyFile(folder: string, clock: () => Date = () => new Date()): Promise<string> {
  const pem = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' })
  const name = await nextKeyName(folder, clock)
  const file = join(folder, name)
  await writeFile(file, pem, { mode: 0o600, flag: 'wx' })
  return file
}

/** Another key of the same time sorts anywhere: waits for the next time. Names of 0.1.0 have whole seconds. */
const MAX_NAME_ATTEMPTS = 60
const NAME_RETRY_MS = 50

async function nextKeyName(folder: string, clock: () => Date): Promise<string> {
  let last = ''
  for (let attempt = 0; attempt < MAX_NAME_ATTEMPTS; attempt += 1) {
    const time = clock().toISOString().replace(/[-:.]/g, '')
    last = (await keyNames(folder)).at(-1) ?? ''
    if (time > last.slice(0, time.length)) return `${time}-${randomBytes(3).toString('hex')}${FILE_EXTENSION}`
    await new Promise((resolve) => setTimeout(resolve, NAME_RETRY_MS))
  }
  throw new Error(`${join(folder, last)} sorts after every name of now; rename it, or correct the clock`)
}

/** Returns the names of the key files in ascending order: the last private key signs. */
async function keyNames(folder: string): Promise<string[]> {
  return (await readdir(folder)).filter((name) => name.endsWith(FILE_EXTENSION)).sort()
}

async function loadKeys(folder: string, log: Log): Promise<Keys> {
  const names = await keyNames(folder)
  const publicKeys = new Map<string, KeyObject>()
  let signingKey: SigningKey | undefined
  for (const name of names) {
    const kid = name.slice(0, -FILE_EXTENSION.length)
    const key = await readKey(folder, name, kid)
    publicKeys.set(kid, key.type === 'private' ? createPublicKey(key) : key)
    if (key.type !== 'private') continue
    signingKey = { kid, key }
    const { mode } = await stat(join(folder, name))
    if ((mode & 0o007) !== 0) log('warn', 'every user of this machine can read a private key', { folder, key: name })
  }
  if (signingKey === undefined)
    throw new Error(`${folder} holds no private key (<kid>${FILE_EXTENSION}, Ed25519); ${HOW_TO_CREATE}`)
  return { signingKey, publicKeys, digest: digestOf(publicKeys) }
}

async function readKey(folder: string, name: string, kid: string): Promise<KeyObject> {
  if (!KID_PATTERN.test(kid))
    throw new Error(`${join(folder, name)}: name key files with letters, digits, dot, _ and -`)
  const pem = await readFile(join(folder, name), 'utf8').catch(() => '')
  const key = parseKey(pem)
  if (key?.asymmetricKeyType !== 'ed25519')
    throw new Error(`${join(folder, name)} is not an Ed25519 key in PEM form; ${HOW_TO_CREATE}`)
  return key
}

function parseKey(pem: string): KeyObject | undefined {
  try {
    return pem.includes('PRIVATE KEY') ? createPrivateKey(pem) : createPublicKey(pem)
  } catch {
    return undefined
  }
}

function digestOf(publicKeys: ReadonlyMap<string, KeyObject>): string {
  const texts = [...publicKeys].map(([kid, key]) => [kid, key.export({ type: 'spki', format: 'pem' })])
  return digestText(JSON.stringify(texts))
}
