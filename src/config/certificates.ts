/** The validity of the certificates in the files that the settings name. */
import { X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { CertificateState } from '../core/settings.ts'
import type { ReloadableConfig } from './reloadable.ts'
import type { Config } from './schema.ts'

export type Certificates = Awaited<ReturnType<typeof createCertificates>>

const MAX_AGE_MS = 10_000
const PEM_CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g

/**
 * A file that cannot be read keeps the row of its last read: its old certificate stays in use. `maxAge`: milliseconds
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

function filesOf({ listen, operations, cluster, cache }: Config): CertificateFile[] {
  const files = [
    { setting: 'listen.tls.cert', file: listen.tls?.cert, isBundle: false },
    { setting: 'operations.tls.cert', file: operations.tls?.cert, isBundle: false },
    { setting: 'cluster.tls.cert', file: cluster.tls.cert, isBundle: false },
    { setting: 'cluster.tls.ca', file: cluster.tls.ca, isBundle: true },
    { setting: 'cache.redis.tls.ca', file: cache.redis.tls.ca, isBundle: true },
  ]
  return files.flatMap(({ file, ...rest }) => (file === undefined ? [] : [{ file, ...rest }]))
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
