import { join } from 'node:path'
import t from 'tap'
import { stringify } from 'yaml'
import { toVariable } from '../../../src/config/environment.ts'
import goneSettings from '../../../src/config/gone-settings.json' with { type: 'json' }
import { loadConfig } from '../../../src/config/index.ts'
import { schema } from '../../../src/config/schema.ts'
import { listLeaves, pathOf, schemaAt, setIn } from '../../../src/config/tree.ts'

const rows = Object.entries(goneSettings)

t.test('each setting that is gone is a fault with its sentence in the file, together with other faults', async (t) => {
  const tree: Record<string, unknown> = { listen: { prot: 1 } }
  for (const [name] of rows) setIn(tree, pathOf(name), { member: 1 })
  const folder = t.testdir({ 'edge.yaml': stringify(tree) })
  const loaded = await loadConfig({ file: join(folder, 'edge.yaml'), env: {} })
  const faults = loaded.ok ? [] : loaded.faults
  for (const [name, instead] of rows) {
    const found = faults.filter((fault) => fault.endsWith(` ${name}: is gone; ${instead}`))
    t.equal(found.length, 1, name)
    t.match(found[0], /^edge\.yaml:\d+:\d+ /)
  }
  t.equal(faults.filter((fault) => fault.includes('is gone')).length, rows.length)
  t.ok(faults.some((fault) => fault.endsWith('listen.prot: is not a setting; did you mean "port"?')))
})

t.test(
  'each setting that is gone is a fault with its sentence in the environment, also as a group or a file',
  async (t) => {
    const variables = rows.flatMap(([name, instead]) =>
      ['', '_FILE', '_MEMBER'].map((end) => ({ variable: toVariable(pathOf(name)) + end, instead })),
    )
    const env = Object.fromEntries(variables.map(({ variable }) => [variable, '1']))
    const loaded = await loadConfig({ env: { ...env, EDGE_LISTEN_PORT: 'many' } })
    const faults = loaded.ok ? [] : loaded.faults
    for (const { variable, instead } of variables) t.ok(faults.includes(`${variable}: is gone; ${instead}`), variable)
    t.ok(faults.some((fault) => fault.startsWith('EDGE_LISTEN_PORT listen.port: must be an integer')))
  },
)

t.test('no row names a setting that exists or is below another row, and what a sentence names exists', (t) => {
  const sections = [...new Set(listLeaves(schema).map(({ path }) => path[0]))].join('|')
  for (const [name, instead] of rows) {
    t.equal(schemaAt(schema, pathOf(name)), undefined, name)
    t.notOk(
      rows.some(([other]) => name.startsWith(`${other}.`)),
      `${name} is the first unknown name of its path`,
    )
    const named = [...instead.matchAll(new RegExp(`\\b(?:${sections})\\.[a-zA-Z]+(?:\\.[a-zA-Z]+)*`, 'g'))]
    for (const [path] of named) t.ok(schemaAt(schema, pathOf(path)), `${name}: ${path}`)
  }
  t.end()
})

t.test('a misspelled name is never explained with a name that is gone', async (t) => {
  const folder = t.testdir({ 'edge.yaml': 'access: { ownRole: {} }' })
  const loaded = await loadConfig({ file: join(folder, 'edge.yaml'), env: { EDGE_ACCESS_OWNROLE: '{}' } })
  const faults = loaded.ok ? '' : loaded.faults.join('\n')
  t.match(faults, /^edge\.yaml:1:11 access\.ownRole: is not a setting; known here: .*customRoles/m)
  t.match(faults, /^EDGE_ACCESS_OWNROLE: is not a setting; (?!.*OWNROLES)/m)
})
