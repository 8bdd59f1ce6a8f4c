/** The certificate of a listener. It is read again when its files change. */
import { readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { createSecureContext, type SecureContextOptions } from 'node:tls'
import { fingerprintFile, watchFiles } from '../file-watcher.ts'
import type { ListenerLog, TlsFiles } from './options.ts'

/** Calls `onChange` after each change. Rejects with an Error that names the files if they cannot be used. */
export async function watchCertificate(
  initial: TlsFiles,
  log: ListenerLog,
  onChange: (context: SecureContextOptions) => void,
) {
  let files = initial
  const { current, close } = await watchFiles({
    folder: dirname(files.cert),
    fingerprint: async () => (await Promise.all([files.cert, files.key].map(fingerprintFile))).join(' '),
    load: () => readCertificate(files),
    onReload: (context) => {
      onChange(context)
      log.info({ cert: files.cert }, 'certificate changed')
    },
    onError: (error) => log.warn({ cert: files.cert }, `${messageOf(error)}; the one before stays in use`),
  })
  return {
    current,
    close,
    /** Reads other files and resolves to the function that puts them to use. Rejects with an Error that names them. */
    prepareReload: async (next: TlsFiles): Promise<() => void> => {
      if (next.cert === files.cert && next.key === files.key) return () => undefined
      const context = await readCertificate(next)
      return () => {
        files = next
        onChange(context)
      }
    },
  }
}

/** Reads certificate and key and checks that they belong together. */
async function readCertificate({ cert, key }: TlsFiles): Promise<SecureContextOptions> {
  try {
    const context = { cert: await readFile(cert), key: await readFile(key), minVersion: 'TLSv1.2' } as const
    createSecureContext(context)
    return context
  } catch (cause) {
    throw new Error(`certificate ${cert} with key ${key} cannot be used: ${messageOf(cause)}`)
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
