/** The files that settings name. Passwords are read; the other files must be readable and have valid content. */
import { access, constants, open, readdir, readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { describeUnreadable, readSecret } from './environment.ts'
import type { FaultList } from './faults.ts'
import type { Report } from './rules.ts'
import { type Config, schema } from './schema.ts'
import { codeOf } from './source.ts'
import { getIn, listLeaves, type Path } from './tree.ts'

export const FILE_SETTINGS = listLeaves(schema).flatMap(({ path, schema: { readable } }) => (readable ? [path] : []))

const MAKE_READABLE = 'create it, or let the user of this process read it'
/** AES-256 is no stronger than the text that its key is derived from. */
const MIN_KEY_BYTES = 32

/** The one setting that names a folder. */
const isFolderSetting = (path: Path): boolean => path.at(-1) === 'keys'

/** Reports every file that this process cannot read. Reads them, because a file whose mode permits it may not open. */
export async function checkFiles(config: Config, report: Report): Promise<void> {
  for (const path of FILE_SETTINGS) {
    const file = getIn(config, path)
    if (typeof file !== 'string') continue
    try {
      await (isFolderSetting(path) ? readdir(file) : readFile(file))
    } catch (error) {
      report(path, describeUnreadable(file, codeOf(error), MAKE_READABLE))
    }
  }
}

/** Reports an audit file that could not be written. Creates nothing: a running edge may write the file. */
export async function checkAuditFile({ audit: { file } }: Config, report: Report): Promise<void> {
  // A value of another type is reported by the schema.
  if (typeof file !== 'string') return
  const path = ['audit', 'file']
  try {
    const opened = open(file, constants.O_WRONLY | constants.O_APPEND)
    const handle = await opened.catch((error) => (codeOf(error) === 'ENOENT' ? undefined : Promise.reject(error)))
    await (handle === undefined ? access(dirname(file), constants.W_OK) : handle.close())
  } catch (error) {
    if (codeOf(error) === 'EISDIR') return report(path, describeUnreadable(file, 'EISDIR', ''))
    const remedy = `create the folder ${dirname(file)}, and let the user of this process write there`
    report(path, `${file} cannot be written (${codeOf(error)}); ${remedy}`)
  }
}

/** Warns of users that only one of `access.roles` and the users file names. Neither stops a start: users come and go. */
export async function warnOfUsers({ access: { users: file, roles }, cluster }: Config, warn: Report): Promise<void> {
  if (file === undefined || cluster.credentials.mode === 'passthrough') return
  const text = await readFile(file, 'utf8').catch(() => undefined)
  const lines = text?.split(/\r?\n/).filter((line) => line.trim() !== '' && !line.startsWith('#')) ?? []
  // A file with other lines is reported by the start.
  if (text === undefined || lines.some((line) => !line.includes(':'))) return
  const names = lines.map((line) => line.slice(0, line.indexOf(':')))
  const known = new Set(names)
  for (const name of Object.keys(roles).filter((each) => !known.has(each))) {
    const remedy = `remove it, or create the user with "manager-edge user add ${name} --file ${file}"`
    warn(['access', 'roles', name], `there is no user "${name}" in ${file}; ${remedy}`)
  }
  for (const name of names.filter((each) => (roles[each] ?? []).length === 0)) {
    const place = Object.hasOwn(roles, name) ? ['access', 'roles', name] : ['access', 'roles']
    warn(place, `the user "${name}" of ${file} has no role, so each request is denied; write ${name}: [reader]`)
  }
}

/** Reports an encryption key that is short enough to be guessed. */
export async function checkEncryptionKey({ cache }: Config, report: Report): Promise<void> {
  if (cache.encryptionKeyFile === undefined) return
  const key = await readFile(cache.encryptionKeyFile, 'latin1').catch(() => undefined)
  const length = key?.replace(/\r?\n$/, '').length ?? MIN_KEY_BYTES
  if (length >= MIN_KEY_BYTES) return
  const message = `${cache.encryptionKeyFile} has ${length} bytes, but needs ${MIN_KEY_BYTES} or more`
  report(['cache', 'encryptionKeyFile'], `${message}; make one with "openssl rand -base64 32"`)
}

export async function checkHeaderFile({ traces: { headersFile } }: Config, report: Report): Promise<void> {
  if (headersFile === undefined) return
  const text = await readFile(headersFile, 'utf8').catch(() => undefined)
  if (text?.trim() === '') report(['traces', 'headersFile'], `${headersFile} is empty; write headers into it`)
  const parsed = text === undefined ? undefined : parseHeaderLines(text)
  if (parsed?.ok === false) report(['traces', 'headersFile'], `${headersFile}:${parsed.line} ${parsed.message}`)
}

/** Messages about these lines never quote them, because the values are secrets. */
type HeaderLines =
  | { readonly ok: true; readonly headers: Readonly<Record<string, string>> }
  | { readonly ok: false; readonly line: number; readonly message: string }

/** RFC 9110 sections 5.1 and 5.5, with at most one space or tab after the colon. */
const HEADER_LINE = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]?([\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)$/
/** Headers that the HTTP client sets. */
const RESERVED_HEADERS = new Set([
  'host',
  'connection',
  'content-length',
  'content-type',
  'content-encoding',
  'transfer-encoding',
])

/** Parses a file of headers: one `name: value` per line. */
export function parseHeaderLines(text: string): HeaderLines {
  const headers: Record<string, string> = {}
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (line === '') continue
    const fail = (message: string): HeaderLines => ({ ok: false, line: index + 1, message })
    const [, name, value] = HEADER_LINE.exec(line) ?? []
    if (name === undefined || value === undefined) return fail('must be a name, a colon and a value; correct the line')
    const lower = name.toLowerCase()
    if (RESERVED_HEADERS.has(lower)) return fail(`must not set ${lower}`)
    if (Object.hasOwn(headers, lower)) return fail(`has ${lower} a second time`)
    headers[lower] = value
  }
  return { ok: true, headers }
}

/** Returns the configuration with the secrets of the files that hold one. Reports a secret that is empty. */
export async function readPasswords(config: Config, { report, isValid }: FaultList): Promise<Config> {
  const { cluster, cache, operations } = config
  /** Reads the secret `name` of a section from the file `nameFile`. With a fault at `valid`, the section stays as it is. */
  const withSecret = async <T extends object>(section: T, path: Path, name: string, valid = path): Promise<T> => {
    const file = getIn(section, [`${name}File`])
    if (typeof file !== 'string' || !isValid(valid)) return section
    const secret = await readSecret(file)
    if (!secret.ok) report([...path, `${name}File`], describeUnreadable(file, secret.code, MAKE_READABLE))
    else if (secret.text === '') report([...path, `${name}File`], `${file} is empty; write the secret into it`)
    return secret.ok ? { ...section, [name]: secret.text } : section
  }
  const credentials = await withSecret(cluster.credentials, ['cluster', 'credentials'], 'password')
  const redis = await withSecret(cache.redis, ['cache', 'redis'], 'password', ['cache', 'redis', 'passwordFile'])
  const signIn = await withSecret(operations.signIn, ['operations', 'signIn'], 'clientSecret')
  return {
    ...config,
    cluster: { ...cluster, credentials },
    cache: { ...cache, redis },
    operations: { ...operations, signIn },
  }
}
