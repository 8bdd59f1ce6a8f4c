/** When certificates end: those of the files that the settings name. */
import { createCertificates } from '../config/certificates.ts'
import type { Config } from '../config/schema.ts'
import { CERTIFICATE_WARNING_MS } from '../status/problems/replica.ts'
import type { Finding } from './output.ts'

/** Returns one finding for each file of certificates that the settings name. */
export async function fileFindings(config: Config): Promise<readonly Finding[]> {
  const files = await createCertificates({ current: () => config })
  return files.current().map(({ setting, validTo }) => {
    const fix = `replace the file in ${setting}; the edge reads it without a restart`
    return expiryFinding({ check: setting, validTo, fix })
  })
}

interface Expiry {
  readonly check: string
  /** Milliseconds since 1970. */
  readonly validTo: number
  readonly fix: string
}

/** Returns whether a certificate has ended, or ends soon. */
export function expiryFinding({ check, validTo, fix }: Expiry): Finding {
  const left = validTo - Date.now()
  if (left <= 0) return { check, status: 'failed', text: `the certificate ended on ${dateOf(validTo)}`, fix }
  const text = `the certificate ends on ${dateOf(validTo)}`
  return left < CERTIFICATE_WARNING_MS ? { check, status: 'warning', text, fix } : { check, status: 'ok', text }
}

export function dateOf(time: number): string {
  return new Date(time).toISOString().slice(0, 10)
}
