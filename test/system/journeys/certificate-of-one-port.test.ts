/** A certificate that cannot be used, of one listener, keeps the certificate of no other listener out. */
import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { startSimulator } from '../../../packages/simulator/src/index.ts'
import { certificateNameAt } from '../../support/certificate-name.ts'
import { startEdge } from '../../support/edge.ts'
import { eventually } from '../../support/eventually.ts'

const fixture = (name: string) => join(import.meta.dirname, '../../support/certificates', name)
const simulator = await startSimulator({ workers: 0, agents: 3, password: 'only-for-tests' })
t.teardown(() => simulator.close())

for (const [wrong, other] of [
  ['operations', 'listen'],
  ['listen', 'operations'],
] as const) {
  t.test(`${other}.tls is replaced while ${wrong}.tls has files of two pairs`, async (t) => {
    const folder = t.testdir({ listen: {}, operations: {} })
    const files = (of: string) => ({ cert: join(folder, of, 'tls.crt'), key: join(folder, of, 'tls.key') })
    const use = async (of: string, cert: string, key: string) => {
      await copyFile(fixture(`${cert}.crt`), files(of).cert)
      await copyFile(fixture(`${key}.key`), files(of).key)
    }
    await use('listen', 'first', 'first')
    await use('operations', 'first', 'first')
    const edge = await startEdge({
      nodes: simulator.nodes,
      reloads: true,
      settings: {
        listen: { tls: files('listen') },
        operations: { tls: files('operations') },
        cluster: { discover: false },
      },
    })
    t.teardown(() => edge.close())
    const urls = { listen: edge.url, operations: edge.operationsUrl }
    const nameAt = (of: keyof typeof urls) => certificateNameAt(Number(new URL(urls[of]).port))

    await use(wrong, 'second', 'first')
    const isRefused = (line: string) => line.includes('not reloaded') && line.includes(files(wrong).cert)
    await eventually(() => edge.logged.some(isRefused))
    await use(other, 'second', 'second')
    await eventually(async () => (await nameAt(other)) === 'second.edge.test')
    t.equal(await nameAt(wrong), 'first.edge.test', 'the pair before stays in use')
    await use(wrong, 'second', 'second')
    await eventually(async () => (await nameAt(wrong)) === 'second.edge.test')
  })
}
