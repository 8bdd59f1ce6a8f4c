/** The certificates and keys that settings name: whether they are PEM, and until when they are valid. */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { CertificateState } from '../core/settings.ts'
import type { FaultList } from './faults.ts'
import { FILE_SETTINGS } from './named-files.ts'
import type { ReloadableConfig } from './reloadable.ts'
import type { Config } from './schema.ts'
import { formatPath, getIn } from './tree.ts'

/** Leaves of the schema that name certificates or private keys. */
const CERTIFICATE_SETTINGS = FILE_SETTINGS.filter((path) => path.includes('tls'))

/** Reports certificates and keys that are not PEM. The edge could not start with them. */
export async function checkCertificates(config: Config, { report, isValid }: FaultList): Promise<void> {
  // A group with another fault is reported once.
  for (const path of CERTIFICATE_SETTINGS.filter((each) => isValid(each.slice(0, -1)))) {
    const file = getIn(config, path)
    // A file that cannot be read is reported by `checkFiles`.
    const bytes = typeof file === 'string' ? await readFile(file).catch(() => undefined) : undefined
    if (bytes === undefined) continue
    const isKey = path.at(-1) === 'key'
    if (!isPem(bytes, isKey))
      report(path, `${file} is no ${isKey ? 'private key' : 'certificate'} in PEM form; ${remedyOf(bytes, isKey)}`)
  }
}

function isPem(bytes: Buffer, isKey: boolean): boolean {
  try {
    if (isKey) createPrivateKey(bytes)
    else if (!bytes.includes(BEGIN_CERTIFICATE)) return false
    else new X509Certificate(bytes.subarray(bytes.indexOf(BEGIN_CERTIFICATE)))
    return true
  } catch {
    return false
  }
}

const BEGIN_CERTIFICATE = '-----BEGIN CERTIFICATE-----'
/** The first byte of DER. */
const ASN1_SEQUENCE = 0x30

function remedyOf(bytes: Buffer, isKey: boolean): string {
  const command = isKey ? 'openssl pkey' : 'openssl x509'
  if (bytes[0] === ASN1_SEQUENCE) return `it is DER: convert it with "${command} -inform DER -in FILE -out FILE.pem"`
  if (bytes.includes('ENCRYPTED')) return 'it has a passphrase: remove it with "openssl pkey -in FILE -out FILE.pem"'
  if (bytes.includes(isKey ? BEGIN_CERTIFICATE : 'PRIVATE KEY-----'))
    return `it is a ${isKey ? 'certificate' : 'private key'}: name the other file of the pair`
  return `"${command} -in FILE -noout -text" must show it`
}

const MAX_AGE_MS = 10_000
const PEM_CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g

/**
 * The validity of the certificates. A file that cannot be read keeps the row of its last read: its old certificate stays in use. `maxAge`: milliseconds
 * after which the files are read again.
 */
export async function createCertificates({ current }: Pick<ReloadableConfig, 'current'>, maxAge: number = MAX_AGE_MS) {
  let states = new Map<string, CertificateState>()
  let readAt = 0
  const read = async (): Promise<void> => {
    readAt = performance.now()
    const rows = await Promise.all(
      filesOf(current()).map(async (file) => (await readState(file)) ?? states.get(file.setting)),
    )
    states = new Map(rows.flatMap((row) => (row === undefined ? [] : [[row.setting, row]])))
  }
  await read()
  return {
    /** Returns one row for each file. Reads the files again in the background if the last read is old. */
    current: (): readonly CertificateState[] => {
      if (performance.now() - readAt >= maxAge) void read()
      return [...states.values()]
    },
  }
}

interface CertificateFile {
  readonly setting: string
  readonly file: string
  /** The file lists trusted authorities instead of a certificate and its chain. */
  readonly isBundle: boolean
}

function filesOf(config: Config): CertificateFile[] {
  return CERTIFICATE_SETTINGS.filter((path) => path.at(-1) !== 'key').flatMap((path) => {
    const file = getIn(config, path)
    return typeof file === 'string' ? [{ setting: formatPath(path), file, isBundle: path.at(-1) === 'ca' }] : []
  })
}

/** The first certificate of a chain is the own one. A bundle can be used until its last authority ends. */
async function readState({ setting, file, isBundle }: CertificateFile): Promise<CertificateState | undefined> {
  try {
    const pems = (await readFile(file, 'utf8')).match(PEM_CERTIFICATE) ?? []
    const ends = pems.map((pem) => Date.parse(new X509Certificate(pem).validTo))
    const validTo = isBundle ? Math.max(...ends) : ends[0]
    return validTo === undefined || !Number.isFinite(validTo) ? undefined : { setting, validTo }
  } catch {
    return undefined
  }
}
