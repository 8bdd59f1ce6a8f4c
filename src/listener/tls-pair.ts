/** The certificate of the listener and its key, read from files and changed without a restart. */
import { readFile, stat } from 'node:fs/promises'
import { createSecureContext, type SecureContextOptions } from 'node:tls'

export interface TlsFiles {
  readonly cert: string
  readonly key: string
}

export type PairResult =
  | { readonly ok: true; readonly context: SecureContextOptions }
  | { readonly ok: false; readonly fault: string }

/** Reads the pair and tries it; a key that does not belong to the certificate is a fault, never a throw. */
export async function readPair({ cert, key }: TlsFiles): Promise<PairResult> {
  try {
    const context = { cert: await readFile(cert), key: await readFile(key), minVersion: 'TLSv1.2' } as const
    createSecureContext(context)
    return { ok: true, context }
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    return { ok: false, fault: `certificate ${cert} with key ${key} cannot be used: ${why}` }
  }
}

/** Changes with each change of the files, also where a symbolic link is turned (as Kubernetes does it). */
export async function fingerprint(files: TlsFiles): Promise<string> {
  const parts = await Promise.all([files.cert, files.key].map((file) => stat(file).catch(() => undefined)))
  return parts.map((part) => (part ? `${part.ino}:${part.size}:${part.mtimeMs}` : 'away')).join(' ')
}
