import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { configFolder } from './config.ts'
import { result } from './program.ts'

interface Printed {
  readonly settings: readonly { readonly setting: string; readonly value: unknown; readonly origin: string }[]
}

t.test('config print shows effective values with their origin, and masks secrets', async (t) => {
  const { file, folder, write, createKey } = await configFolder(t)
  await createKey()
  writeFileSync(join(folder, 'redis-password'), 'redis-pw\n', { mode: 0o600 })
  write(
    { limits: { timeout: '90s' } },
    { cache: { redis: { url: 'redis://127.0.0.1:1', passwordFile: 'redis-password' } } },
  )
  const env = { EDGE_CLUSTER_LIMITS_INFLIGHT: '7' }
  const { code, out, err } = await result(t, ['config', 'print', '--config', file, '--json'], { env })
  t.strictSame([code, err], [0, ''])
  const { settings } = JSON.parse(out) as Printed
  const find = (name: string) => settings.find(({ setting }) => setting === name)
  t.match(find('cluster.limits.timeout'), { value: '90s', origin: /^edge\.yaml:\d+:\d+$/ })
  t.match(find('cluster.limits.inFlight'), { value: 7, origin: 'EDGE_CLUSTER_LIMITS_INFLIGHT' })
  t.match(find('listen.drain.limit'), { value: '30s', origin: 'default' })
  t.match(find('cluster.credentials.password'), { value: '(secret)', origin: /^edge\.yaml:/ })
  t.match(find('cache.redis.password'), { value: '(secret)', origin: /^edge\.yaml:/ }, 'from the file of the password')
  t.notMatch(out, /only-for-tests|redis-pw/)

  const changed = await result(t, ['config', 'print', '--config', file, '--changed'], { env })
  t.match(changed.out, /^SETTING +VALUE +ORIGIN\n/)
  t.match(changed.out, /^cluster\.limits\.timeout +90s +edge\.yaml:\d+:\d+$/m)
  t.notMatch(changed.out, / default$/m)

  const wrong = await result(t, ['config', 'print', '--config', join(folder, 'nothing.yaml')])
  t.equal(wrong.code, 2)
  t.match(wrong.err, /nothing\.yaml.*cannot be read \(ENOENT\)/)
})

const NO_FILE = /^no configuration file was read; name one with --config or EDGE_CONFIG$/m

t.test('without a configuration file, the command and a start report that they have read none', async (t) => {
  const env = {
    EDGE_CLUSTER_NODES: '[{ name: n1, type: master, url: "http://127.0.0.1:1" }]',
    EDGE_CLUSTER_CREDENTIALS_MODE: 'passthrough',
  }
  const rows = { 'faults of the settings': [{}, 2], 'settings of the environment': [env, 0] } as const
  for (const [name, [variables, code]] of Object.entries(rows)) {
    const ended = await result(t, ['config', 'print'], { env: variables })
    t.equal(ended.code, code, `${name}: ${ended.err}`)
    t.match(ended.err, NO_FILE, name)
  }
  const started = await result(t, ['start'])
  t.equal(started.code, 2)
  t.match(started.err, NO_FILE)
})
