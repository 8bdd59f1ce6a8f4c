import { appendFile, copyFile, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import { startSimulator } from '../../../packages/simulator/src/index.ts'
import { certificateNameAt } from '../../support/certificate-name.ts'
import { startEdge } from '../../support/edge.ts'
import { eventually } from '../../support/eventually.ts'
import { authority, hasOpenssl } from '../../unit/upstream/certificates.ts'

const skip = (await hasOpenssl()) ? false : 'openssl is not installed'

t.test('another authority for the certificates of the nodes, under load', { skip }, async (t) => {
  const [before, after] = await Promise.all([authority(t, 'the old one'), authority(t, 'the next one')])
  const started = async (pair: Awaited<ReturnType<typeof before.sign>>) => {
    const simulator = await startSimulator({ workers: 0, agents: 3, password: 'only-for-tests', tls: pair })
    t.teardown(() => simulator.close())
    return simulator
  }
  const [old, next] = [
    await started(await before.sign('IP:127.0.0.1')),
    await started(await after.sign('IP:127.0.0.1')),
  ]
  const folder = t.testdir({ 'ca.crt': before.cert })
  const ca = join(folder, 'ca.crt')
  const edge = await startEdge({
    nodes: old.nodes,
    reloads: true,
    settings: { cache: { enabled: false }, cluster: { discover: false, tls: { ca } } },
  })
  t.teardown(() => edge.close())
  const get = () => fetch(`${edge.url}/agents?limit=1`, { headers: { authorization: edge.authorization('admin') } })
  let going = true
  const statuses: number[] = []
  const client = async () => {
    while (going) {
      statuses.push((await get()).status)
      await wait(5)
    }
  }
  const load = Promise.all([client(), client()])
  const count = (message: string) => edge.logged.filter((line) => line.includes(message)).length
  /** Replaces the file, and waits until the edge has logged the message once more. */
  const put = async (file: string, text: string, message: string) => {
    const before = count(message)
    await writeFile(`${file}.new`, text)
    await rename(`${file}.new`, file)
    await eventually(() => count(message) > before)
  }
  await put(ca, before.cert + after.cert, 'node certificates reloaded')
  const settings = join(edge.folder, 'edge.yaml')
  const text = await readFile(settings, 'utf8')
  await put(settings, text.replace(old.nodes[0]?.url ?? '', next.nodes[0]?.url ?? ''), 'configuration reloaded')
  await put(ca, 'no certificate at all', 'configuration not reloaded')
  await put(ca, after.cert, 'node certificates reloaded')
  const reached = next.seen.length
  await eventually(() => next.seen.length > reached && statuses.length > 50)
  going = false
  await load
  t.strictSame(
    statuses.filter((status) => status !== 200),
    [],
    'none failed',
  )
})

const fixture = (name: string) => join(import.meta.dirname, '../../support/certificates', name)

function nameAt(url: string): Promise<string> {
  return certificateNameAt(Number(new URL(url).port))
}

t.test('another certificate of each port, and one that cannot be used', async (t) => {
  const simulator = await startSimulator({ workers: 0, agents: 3, password: 'only-for-tests' })
  t.teardown(() => simulator.close())
  const folder = t.testdir()
  const tls = { cert: join(folder, 'tls.crt'), key: join(folder, 'tls.key') }
  const use = async (name: string) => {
    await copyFile(fixture(`${name}.crt`), tls.cert)
    await copyFile(fixture(`${name}.key`), tls.key)
  }
  await use('first')
  const edge = await startEdge({
    nodes: simulator.nodes,
    reloads: true,
    settings: { listen: { tls }, operations: { tls }, cluster: { discover: false } },
  })
  t.teardown(() => edge.close())
  const names = () => Promise.all([edge.url, edge.operationsUrl].map(nameAt))
  const both = (name: string) => [`${name}.edge.test`, `${name}.edge.test`]
  t.strictSame(await names(), both('first'))
  await use('second')
  await eventually(async () => String(await names()) === String(both('second')))
  await copyFile(fixture('first.crt'), tls.cert)
  const isRefused = (line: string) => line.includes('configuration not reloaded') && line.includes(tls.cert)
  await eventually(() => edge.logged.some(isRefused))
  t.strictSame(await names(), both('second'), 'the pair before stays in use')
  await use('first')
  await eventually(async () => String(await names()) === String(both('first')))
  await appendFile(join(edge.folder, 'edge.yaml'), '\nunknown: true\n')
  await eventually(() => edge.logged.some((line) => line.includes('not reloaded') && line.includes('unknown')))
  await use('second')
  await eventually(async () => String(await names()) === String(both('second')))
})
