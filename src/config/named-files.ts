import { access, constants } from 'node:fs/promises'
import { secretFrom } from './environment.ts'
import type { FaultList } from './faults.ts'
import { codeOf } from './file.ts'
import type { Settings } from './index.ts'
import type { Report } from './rules.ts'
import { getIn, type Path } from './tree.ts'

/** The files that the settings name: passwords are read, the others must at least be readable. */

const named: readonly Path[] = [
  ['listen', 'tls', 'cert'],
  ['listen', 'tls', 'key'],
  ['operations', 'tls', 'cert'],
  ['operations', 'tls', 'key'],
  ['cluster', 'tls', 'ca'],
  ['cluster', 'tls', 'cert'],
  ['cluster', 'tls', 'key'],
  ['cache', 'redis', 'tls', 'ca'],
  ['cache', 'encryptionKeyFile'],
  ['access', 'users'],
  ['access', 'tokens', 'keys'],
  ['traces', 'headersFile'],
]

const LET_READ = 'make it, or let the user of this process read it'
const LEAST_KEY = 32

/** Reports every named file that this process cannot read. */
export async function checkFiles(settings: Settings, report: Report): Promise<void> {
  for (const path of named) {
    const file = getIn(settings, path)
    if (typeof file !== 'string') continue
    try {
      await access(file, constants.R_OK)
    } catch (cause) {
      report(path, `${file} cannot be read (${codeOf(cause)}); ${LET_READ}`)
    }
  }
}

/** Reports a key that could be guessed: AES-256 is worth no more than what its key was made from. */
export async function checkEncryptionKey({ cache }: Settings, report: Report): Promise<void> {
  if (cache.encryptionKeyFile === undefined) return
  const key = await secretFrom(cache.encryptionKeyFile)
  const length = key.ok ? Buffer.byteLength(key.text) : LEAST_KEY
  if (length >= LEAST_KEY) return
  const remedy = `${LEAST_KEY} at least; make one with "openssl rand -base64 32"`
  report(['cache', 'encryptionKeyFile'], `${cache.encryptionKeyFile} holds ${length} bytes, and must hold ${remedy}`)
}

/** Reports a file of headers that cannot be sent. */
export async function checkTraceHeaders({ traces: { headersFile } }: Settings, report: Report): Promise<void> {
  if (headersFile === undefined) return
  const file = await secretFrom(headersFile)
  const read = file.ok ? readHeaderLines(file.text) : undefined
  if (read?.ok === false) report(['traces', 'headersFile'], `${headersFile}:${read.line} ${read.says}`)
}

/** The settings with the passwords in their places; those that everybody knows are reported. */
export async function withPasswords(settings: Settings, { report, sound }: FaultList): Promise<Settings> {
  const { cluster, cache } = settings
  let credentials = cluster.credentials
  let redis = cache.redis
  if (sound(['cluster', 'credentials'])) {
    credentials = await filled(credentials, ['cluster', 'credentials'], report)
    reportWeakness(credentials, report)
  }
  if (sound(['cache', 'redis', 'passwordFile'])) redis = await filled(redis, ['cache', 'redis'], report)
  return { ...settings, cluster: { ...cluster, credentials }, cache: { ...cache, redis } }
}

interface Account {
  readonly username?: string
  readonly password?: string
  readonly passwordFile?: string
}

async function filled<T extends Account>(account: T, path: Path, report: Report): Promise<T> {
  const { passwordFile } = account
  if (passwordFile === undefined) return account
  const read = await secretFrom(passwordFile)
  if (read.ok) return { ...account, password: read.text }
  report([...path, 'passwordFile'], `${passwordFile} cannot be read (${read.code}); ${LET_READ}`)
  return account
}

function reportWeakness({ username, password, passwordFile }: Account, report: Report): void {
  if (username === undefined || password === undefined) return
  const fault = weakness(username, password)
  const field = passwordFile === undefined ? 'password' : 'passwordFile'
  if (fault) report(['cluster', 'credentials', field], fault)
}

/** Passwords that the manager ships with, or that everybody tries first. */
const knownPasswords = new Set([
  'foo',
  'bar',
  'wazuh',
  'wazuh-wui',
  'admin',
  'password',
  'changeme',
  'secret',
  '123456',
])

/** The fault of a password, wherever it was read from; `undefined`: none. */
function weakness(username: string, password: string): string | undefined {
  const remedy = 'set one of its own for this user on the manager, and name it here'
  if (password === '') return `the password is empty; ${remedy}`
  if (password.toLowerCase() === username.toLowerCase()) return `the password is the name of the user; ${remedy}`
  if (knownPasswords.has(password.toLowerCase())) return `the password is a known default; ${remedy}`
  return undefined
}

/** Headers in a file, one `name: value` on each line; they hold secrets, so that no fault tells what stands there. */
export type HeaderLines =
  | { readonly ok: true; readonly headers: Readonly<Record<string, string>> }
  | { readonly ok: false; readonly line: number; readonly says: string }

/** RFC 9110 sections 5.1 and 5.5; one blank or none behind the colon. */
const LINE = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]?([\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)$/
/** What the sender of the request sets itself. */
const TAKEN = new Set(['host', 'connection', 'content-length', 'content-type', 'content-encoding', 'transfer-encoding'])

export function readHeaderLines(text: string): HeaderLines {
  const headers: Record<string, string> = {}
  for (const [at, line] of text.split(/\r?\n/).entries()) {
    if (line === '') continue
    const refused = (says: string): HeaderLines => ({ ok: false, line: at + 1, says })
    const [, name, value] = LINE.exec(line) ?? []
    if (name === undefined || value === undefined) return refused('must be a name, a colon and a value')
    const known = name.toLowerCase()
    if (TAKEN.has(known)) return refused(`must not set ${known}`)
    if (Object.hasOwn(headers, known)) return refused(`names ${known} a second time`)
    headers[known] = value
  }
  return { ok: true, headers }
}
