import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { parse, stringify } from 'yaml'
import { simulated } from '../../support/simulated.ts'
import { eventually } from '../../unit/cache/stores/replicas.ts'

t.test('a setting with its old name is logged once at the start, and once after the reload that adds it', async (t) => {
  const { simulator, edge } = await simulated(
    t,
    { workers: 2, agents: 1 },
    { reloads: true, settings: { cache: { nearBytes: '2MiB' }, cluster: { discover: false } } },
  )
  const logged = () => edge.logged.map((line) => JSON.parse(line))
  const warnings = () =>
    logged().flatMap(({ msg, level, warning }) => (msg === 'deprecated setting' ? [{ level, warning }] : []))
  const nearBytes = /^edge\.yaml:\d+:\d+ cache\.nearBytes: is deprecated since 0\.2\.0; write cache\.localBytes$/
  t.match(warnings(), [{ level: 40, warning: nearBytes }])
  t.equal(warnings().length, 1, 'once at the start')

  const file = join(edge.folder, 'edge.yaml')
  const settings = parse(await readFile(file, 'utf8'))
  /** Changes nodes and roles, and waits for the reload. */
  const reload = async (workers: number) => {
    settings.cluster.nodes = simulator.nodes.slice(0, 1 + workers).map(({ name, type, url }) => ({ name, type, url }))
    settings.access.roles = { admin: ['administrator'], ...(workers === 1 && { reader: ['reader'] }) }
    const count = () => logged().filter(({ msg }) => msg === 'configuration reloaded').length
    const before = count()
    await writeFile(`${file}.new`, stringify(settings))
    await rename(`${file}.new`, file)
    await eventually(() => count() > before)
  }
  await reload(1)
  t.equal(warnings().length, 1, 'not again after a reload')
  settings.access.ownRoles = { desk: ['agents:read'] }
  await reload(2)
  t.match(warnings()[1]?.warning, /access\.ownRoles: is deprecated since 0\.2\.0; write access\.customRoles$/)
  t.equal(warnings().length, 2, 'one more warning, for the added setting')
})
