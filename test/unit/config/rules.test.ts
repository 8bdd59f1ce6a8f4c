import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { loadConfig } from '../../../src/config/index.ts'
import { clusterAndAccess } from './faulty-cluster.ts'
import { front } from './faulty-listener.ts'
import { signInFaults, validSignIn } from './faulty-sign-in.ts'
import { account, file, nodes, withGroup } from './settings-text.ts'

async function faultsOf(t: Test, text: string, env: Record<string, string> = {}): Promise<string[]> {
  const folder = t.testdir({ users: '', keys: {} })
  const path = join(folder, 'edge.yaml')
  writeFileSync(path, text)
  const loaded = await loadConfig({ file: path, env })
  return loaded.ok ? [] : loaded.faults.map((line) => line.replaceAll(folder, '…'))
}

t.test('each fault has a place and a remedy', async (t) => {
  t.strictSame(await faultsOf(t, file({})), [], 'the configuration without a fault is valid')
  t.strictSame(await faultsOf(t, validSignIn), [])
  for (const [name, text, fault] of [...front, ...clusterAndAccess, ...signInFaults]) {
    const faults = await faultsOf(t, text)
    t.equal(faults.length, 1, `${name}: reported once: ${faults.join(' | ')}`)
    t.ok(faults[0]?.includes(fault), `${name}: ${faults[0]}`)
    t.match(faults[0], /^edge\.yaml(?::\d+:\d+)?[ :]/, `${name}: has a place`)
  }
})

t.test('all faults are reported at once, in the order of the file', async (t) => {
  const text = 'listen:\n  port: "1"\n  hsot: a\ncluster:\n  nodes: []\nlog:\n  level: loud\n'
  const faults = await faultsOf(t, text, { EDGE_LISTEN_LIMITS_QUERYPARAMETERS: '0', EDGE_NOTHING: '1' })
  t.equal(faults.length, 8)
  const lines = faults.map((fault) => Number(/^edge\.yaml:(\d+)/.exec(fault)?.[1] ?? Number.MAX_SAFE_INTEGER))
  t.strictSame(
    lines,
    lines.toSorted((a, b) => a - b),
  )
})

t.test('a message never contains a password', async (t) => {
  const faults = await faultsOf(t, file({ cluster: account('username: edge, password: 123456') }))
  t.notMatch(faults.join(), '123456')
  t.match(faults[0], 'cluster.credentials.password: must be text')
  const addresses = `
cache: { redis: { url: 'redis://edge:s3cr/et@127.0.0.1:1' } }
traces: { endpoint: 'https://edge:s3cr@et@collector.example' }`
  const inAddresses = await faultsOf(
    t,
    file({ cluster: nodes("{ name: m, type: master, url: 'https://edge:s3cret@10.0.0.1:1' }"), more: addresses }),
  )
  t.equal(inAddresses.length, 3, 'an address with a password is refused')
  t.notMatch(inAddresses.join(), /s3cr/)
  t.match(inAddresses.join(), 'got "https://…@10.0.0.1:1"')
})

t.test('unusual settings that are valid', async (t) => {
  const good: Record<string, string> = {
    'plain HTTP on purpose': file({ listen: 'host: 0.0.0.0\n  tls: off' }),
    'plain HTTP as a writer of YAML 1.1 has it': file({ listen: 'host: 0.0.0.0\n  tls: false' }),
    'plain HTTP for operators on purpose': file({ more: 'operations: { host: 0.0.0.0, tls: off }' }),
    'plain HTTP to this machine': file({ cluster: nodes("{ name: m, type: master, url: 'http://127.0.0.1:1' }") }),
    'plain HTTP to nodes on purpose': file({
      cluster: `${nodes("{ name: m, type: master, url: 'http://10.0.0.1:1' }")}\n  tls: { required: false }`,
    }),
    'both contracts in front of v4 nodes': file({ listen: 'secondPort: 0', cluster: withGroup('layout: v4') }),
    'the v4 contract while nodes are upgraded': file({
      listen: 'contract: v4',
      cluster: withGroup('layout: auto'),
    }),
    'keys without values': file({ listen: 'tls:\n  host:' }),
    'a user named like a member of objects': file({
      access: 'users: users\n  roles: { constructor: [reader], __proto__: [reader] }',
    }),
    'passthrough without a users file': file({ cluster: account('mode: passthrough'), access: 'roles: {}' }),
    'an own role': file({
      access: "users: users\n  customRoles: { desk: ['agents:read', '*:read', '*'] }\n  roles: { bob: [desk] }",
    }),
  }
  for (const [name, text] of Object.entries(good)) t.strictSame(await faultsOf(t, text), [], name)
})

t.test('a missing file, a folder and a huge file are faults', async (t) => {
  const folder = t.testdir({ huge: '#'.repeat(1024 * 1024 + 1) })
  const cases: Record<string, RegExp> = {
    nowhere: /^nowhere: cannot be read \(ENOENT\); name an existing, readable file with --config or EDGE_CONFIG$/,
    '.': /cannot be read \(EISDIR\)/,
    huge: /^huge: is larger than 1 MiB; name a configuration file$/,
  }
  for (const [name, fault] of Object.entries(cases)) {
    const loaded = await loadConfig({ file: join(folder, name), env: {} })
    t.ok(!loaded.ok && loaded.faults.length === 1 && fault.test(loaded.faults[0] ?? ''), name)
  }
})
