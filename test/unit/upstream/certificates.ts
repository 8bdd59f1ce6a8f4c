/** Certificates that openssl makes for a test: an authority, and the certificates that it signs. */
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Test } from 'tap'

const run = promisify(execFile)

export interface Pair {
  readonly cert: string
  readonly key: string
}

export interface Authority {
  readonly cert: string
  /**
   * `names` as openssl writes them: `IP:127.0.0.1,DNS:node`; absent: only `subject` names the host. Negative `days`: expired
   * already.
   */
  sign(names?: string, days?: number, subject?: string): Promise<Pair>
}

export async function hasOpenssl(): Promise<boolean> {
  return run('openssl', ['version']).then(
    () => true,
    () => false,
  )
}

export async function authority(t: Pick<Test, 'teardown'>, name: string): Promise<Authority> {
  const folder = await mkdtemp(join(tmpdir(), 'edge-certificates-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const at = (file: string) => join(folder, file)
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  const ca = ['-keyout', at('ca.key'), '-out', at('ca.crt'), '-subj', `/CN=${name}`, '-days', '2']
  await run('openssl', ['req', '-x509', ...newKey, ...ca])
  let made = 0
  const sign = async (names?: string, days = 2, subject = 'node'): Promise<Pair> => {
    made += 1
    const serial = String(made + 1)
    const [key, request, cert, extension] = ['key', 'csr', 'crt', 'ext'].map((end) => at(`${made}.${end}`)) as [
      string,
      string,
      string,
      string,
    ]
    await run('openssl', ['req', ...newKey, '-keyout', key, '-out', request, '-subj', `/CN=${subject}`])
    await writeFile(extension, names === undefined ? '' : `subjectAltName=${names}\n`)
    // A file of serial numbers would be read by one command while another one writes it.
    const by = ['-CA', at('ca.crt'), '-CAkey', at('ca.key'), '-set_serial', serial]
    const rest = ['-in', request, '-out', cert, '-days', String(days), '-extfile', extension]
    await run('openssl', ['x509', '-req', ...by, ...rest])
    return { cert: await readFile(cert, 'utf8'), key: await readFile(key, 'utf8') }
  }
  return { cert: await readFile(at('ca.crt'), 'utf8'), sign }
}
