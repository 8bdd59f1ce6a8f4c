/** A file of release 0.1.0 with all its settings, used by this version. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { hash } from '@node-rs/bcrypt'
import t, { type Test } from 'tap'
import { parse, stringify } from 'yaml'
import { startSimulator } from '../../../packages/simulator/src/index.ts'
import { renamedSettings } from '../../../src/config/deprecated.ts'
import { program, result } from './program.ts'

const account = { username: 'edge', password: 'only-for-tests' }
const simulator = await startSimulator({ workers: 1, agents: 3, ...account })
t.teardown(() => simulator.close())
const users = `admin:${await hash('admin-pw', 4)}\n`
/** The group `cache.verify` itself has no warning, because all its members are renamed. The other name is newer. */
const renamed = renamedSettings.filter(({ from }) => !['cache.verify', 'cache.onUnreachableStore'].includes(from))

function writeConfig(t: Test, cache: object = {}): string {
  const folder = t.testdir({ users })
  const settings = parse(readFileSync('test/unit/config/default-0.1.0.yaml', 'utf8'))
  Object.assign(settings.listen, { port: 0, drain: { notice: '0s', limit: '10s' } })
  settings.operations.port = 0
  settings.cluster.nodes = simulator.nodes.map(({ name, type, url }) => ({ name, type, url }))
  Object.assign(settings.cluster.credentials, account)
  Object.assign(settings.access, { users: 'users', roles: { admin: ['administrator'] } })
  Object.assign(settings.cache, cache)
  const file = join(folder, 'edge.yaml')
  writeFileSync(file, stringify(settings))
  return file
}

t.test('starts, and logs one warning for each renamed setting', async (t) => {
  const edge = program(t, ['start', '--config', writeConfig(t)])
  const [, url] = await edge.until(/"url":"([^"]+)"/)
  const headers = { authorization: `Basic ${btoa('admin:admin-pw')}` }
  t.equal((await fetch(`${url}/agents`, { headers })).status, 200)
  edge.child.kill('SIGTERM')
  const { code, out, err } = await edge.ended
  t.equal(code, 0)
  t.equal(err, '')
  const lines = out.trim().split('\n')
  const warnings = lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'deprecated setting')
  t.equal(warnings.length, renamed.length)
  for (const [index, { from, to }] of renamed.entries()) {
    t.equal(warnings[index]?.level, 40)
    t.match(
      warnings[index]?.warning,
      new RegExp(`^edge.yaml:\\d+:\\d+ ${from}: is deprecated since .*; write ${to}(?:: \\w+)?$`),
    )
  }
})

t.test('check prints the warnings and succeeds', async (t) => {
  const { code, out, err } = await result(t, ['check', '--config', writeConfig(t)])
  t.equal(code, 0, err)
  t.match(out, /ok\n$/)
  const lines = err.trim().split('\n')
  t.equal(lines.length, renamed.length)
  t.match(lines[0], /^warning: edge\.yaml:\d+:\d+ listen\.limits\.query: is deprecated since/)
})

t.test('a start with faults prints the warnings too, because faults have the new names', async (t) => {
  const { code, err } = await result(t, ['start', '--config', writeConfig(t, { nearBytes: '1KiB' })])
  t.equal(code, 2)
  t.match(err, /^warning: edge\.yaml:\d+:\d+ cache\.nearBytes: is deprecated since .*; write cache\.localBytes$/m)
  t.match(err, /^edge\.yaml:\d+:\d+ cache\.localBytes: is under 1MiB/m)
})
