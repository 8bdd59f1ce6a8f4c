import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto'
import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Log } from '../core/events.ts'
import { folderFingerprint, watched } from './file-watcher.ts'

/**
 * The keys that sign and verify the edge's own tokens: a folder of `<kid>.pem`, shared by all replicas. The last
 * private key by name signs, all verify; a public key verifies only. To rotate without a gap, bring the new key to
 * every replica as a public one first, then as a private one; take the old one away when its tokens have ended.
 */

export const ownAlgorithm = 'EdDSA'

/** PEM texts. */
export interface KeyRing {
  /** The key that signs now. */
  signer(): { readonly kid: string; readonly pem: string }
  /** The public key of that name, if there is one. */
  verifier(kid: string): string | undefined
  close(): void
}

interface Keys {
  readonly signer: { readonly kid: string; readonly pem: string }
  readonly verifiers: ReadonlyMap<string, string>
}

const ENDING = '.pem'
const KID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/
const MAKE = '`manager-edge token key FOLDER` makes one'

/** Follows a folder of keys. Rejects when it holds no private key or anything unreadable; broken later, the last good keys stay. */
export async function watchKeys(folder: string, log: Log): Promise<KeyRing> {
  const source = await watched({
    folder,
    fingerprint: () => folderFingerprint(folder, ENDING),
    load: () => load(folder, log),
    changed: (now) => log('info', 'keys read again', { folder, signer: now.signer.kid, keys: now.verifiers.size }),
    broken: (error) =>
      log('error', 'folder of keys is broken, the last good keys stay', {
        folder,
        fault: error instanceof Error ? error.message : String(error),
      }),
  })
  return {
    signer: () => source.current().signer,
    verifier: (kid) => source.current().verifiers.get(kid),
    close: () => source.close(),
  }
}

/** One key that nobody else has. */
export function ephemeralKeys(log: Log): KeyRing {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const kid = `process-${randomBytes(8).toString('hex')}`
  const signer = { kid, pem: privatePem(privateKey) }
  const verifier = publicPem(publicKey)
  log('warn', 'access.tokens.keys is not set: tokens end when this replica stops, and no other replica takes them')
  return { signer: () => signer, verifier: (asked) => (asked === kid ? verifier : undefined), close: () => {} }
}

/** Makes a new key file (mode 0600) whose name sorts after all earlier ones; gives its path. */
export async function makeKeyFile(folder: string, now = new Date()): Promise<string> {
  const time = now.toISOString().replace(/[-:]|\.\d+/g, '')
  const file = join(folder, `${time}-${randomBytes(3).toString('hex')}${ENDING}`)
  await writeFile(file, privatePem(generateKeyPairSync('ed25519').privateKey), { mode: 0o600, flag: 'wx' })
  return file
}

async function load(folder: string, log: Log): Promise<Keys> {
  const names = (await readdir(folder)).filter((name) => name.endsWith(ENDING)).sort()
  const verifiers = new Map<string, string>()
  let signer: Keys['signer'] | undefined
  for (const name of names) {
    const kid = name.slice(0, -ENDING.length)
    const { key, pem } = await readKey(folder, name, kid)
    verifiers.set(kid, publicPem(createPublicKey(pem)))
    if (key.type !== 'private') continue
    signer = { kid, pem: privatePem(key) }
    const { mode } = await stat(join(folder, name))
    if ((mode & 0o007) !== 0) log('warn', 'every user of this machine can read a private key', { folder, key: name })
  }
  if (signer === undefined) throw new Error(`${folder} holds no private key (<kid>${ENDING}, Ed25519); ${MAKE}`)
  return { signer, verifiers }
}

async function readKey(folder: string, name: string, kid: string): Promise<{ key: KeyObject; pem: string }> {
  if (!KID.test(kid)) throw new Error(`${join(folder, name)}: a key is named by letters, digits, dot, _ and -`)
  const pem = await readFile(join(folder, name), 'utf8')
  const key = toKey(pem)
  if (key?.asymmetricKeyType !== 'ed25519')
    throw new Error(`${join(folder, name)} is no Ed25519 key in PEM form; ${MAKE}`)
  return { key, pem }
}

function toKey(pem: string): KeyObject | undefined {
  try {
    return pem.includes('PRIVATE KEY') ? createPrivateKey(pem) : createPublicKey(pem)
  } catch {
    return undefined
  }
}

function privatePem(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString()
}

function publicPem(key: KeyObject): string {
  return key.export({ type: 'spki', format: 'pem' }).toString()
}
