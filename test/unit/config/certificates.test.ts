/** The end of the certificates that the settings name. */
import { copyFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createCertificates } from '../../../src/config/certificates.ts'
import type { ReloadableConfig } from '../../../src/config/reloadable.ts'
import { defaultConfig } from '../../support/default-config.ts'
import { eventually } from '../../support/eventually.ts'

const fixture = (name: string) => join(import.meta.dirname, '../../support/certificates', name)
/** Of both fixtures. */
const ENDS = Date.parse('2126-10-28T07:42:15Z')

/** The defaults, with these files. */
function settings(files: { readonly listen?: string; readonly ca?: string }): Pick<ReloadableConfig, 'current'> {
  const pair = (cert: string | undefined) => (cert === undefined ? {} : { tls: { cert, key: fixture('first.key') } })
  const { listen, cluster } = defaultConfig
  const config = {
    ...defaultConfig,
    listen: { ...listen, ...pair(files.listen) },
    cluster: { ...cluster, tls: { ...cluster.tls, ...(files.ca !== undefined && { ca: files.ca }) } },
  }
  return { current: () => config }
}

t.test('each certificate is named by its setting, with its end', async (t) => {
  const { current } = await createCertificates(settings({ listen: fixture('first.crt'), ca: fixture('second.crt') }))
  t.strictSame(current(), [
    { setting: 'listen.tls.cert', validTo: ENDS },
    { setting: 'cluster.tls.ca', validTo: ENDS },
  ])
})

t.test('a replaced file is found, and a missing one keeps the end of the certificate in use', async (t) => {
  const file = join(t.testdir(), 'edge.crt')
  copyFileSync(fixture('first.key'), file)
  const { current } = await createCertificates(settings({ listen: file }), 0)
  t.strictSame(current(), [])
  copyFileSync(fixture('first.crt'), file)
  await eventually(() => current()[0]?.validTo === ENDS)
  rmSync(file)
  for (let reads = 0; reads < 5; reads++) {
    t.equal(current()[0]?.validTo, ENDS)
    await new Promise((resolve) => setImmediate(resolve))
  }
})

t.test('a file without a certificate has no end', async (t) => {
  const { current } = await createCertificates(settings({ listen: fixture('first.key') }))
  t.strictSame(current(), [])
})
