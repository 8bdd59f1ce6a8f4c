import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t, { type Test } from 'tap'
import { loadConfig } from '../../../src/config/index.ts'

const file = `
listen: { port: 1000 }
cluster:
  nodes: [{ name: m, type: master, url: 'http://127.0.0.1:1' }]
  credentials: { username: edge, passwordFile: secret }
access: { users: users }
`

/** A folder with a file of settings and what it names. */
function folderOf(t: Test, more: Record<string, string> = {}): string {
  return t.testdir({ 'edge.yaml': file, users: '', secret: 'from-the-file\n', ...more })
}

t.test('a variable overrides the file for every kind of setting', async (t) => {
  const folder = folderOf(t)
  const loaded = await loadConfig({
    env: {
      EDGE_CONFIG: join(folder, 'edge.yaml'),
      EDGE_LISTEN_PORT: '2000',
      EDGE_LISTEN_LIMITS_PIPELINED: '7',
      EDGE_LISTEN_TIMEOUTS_IDLE: '750ms',
      EDGE_LISTEN_HOSTS: 'a.example, b.example',
      EDGE_LISTEN_TRUSTEDPROXIES: '[10.0.0.1, fd00::/8]',
      EDGE_CLUSTER_LIMITS_INFLIGHT: '9',
      EDGE_CLUSTER_LIMITS_RESPONSE: '1MiB',
      EDGE_CLUSTER_DISCOVER: 'false',
      EDGE_CLUSTER_NODES: '[{ name: x, type: master, url: "http://127.0.0.1:2" }]',
      EDGE_ACCESS_ROLES: '{ alice: [reader] }',
      EDGE_LOG_LEVEL: 'warn',
      OTHER: 'ignored',
    },
  })
  if (!loaded.ok) return t.fail(loaded.faults.join('\n'))
  const { listen, cluster, access, log } = loaded.config
  t.equal(listen.port, 2000)
  t.equal(listen.limits.pipelined, 7)
  t.equal(listen.timeouts.idle, 750)
  t.strictSame(listen.hosts, ['a.example', 'b.example'])
  t.strictSame(listen.trustedProxies, ['10.0.0.1', 'fd00::/8'])
  t.equal(cluster.limits.inFlight, 9)
  t.equal(cluster.limits.response, 1024 * 1024)
  t.equal(cluster.discover, false)
  t.strictSame(cluster.nodes, [{ name: 'x', type: 'master', url: 'http://127.0.0.1:2' }])
  t.strictSame(access.roles.alice, ['reader'])
  t.equal(log.level, 'warn')
})

t.test('the environment alone can be the configuration', async (t) => {
  const folder = folderOf(t)
  const loaded = await loadConfig({
    env: {
      EDGE_CLUSTER_NODES: '[{ name: x, type: master, url: "http://127.0.0.1:2" }]',
      EDGE_CLUSTER_CREDENTIALS_USERNAME: 'edge',
      EDGE_CLUSTER_CREDENTIALS_PASSWORD_FILE: join(folder, 'secret'),
      EDGE_ACCESS_USERS: join(folder, 'users'),
      EDGE_LISTEN_HOST: '0.0.0.0',
      EDGE_LISTEN_TLS: 'off',
    },
  })
  if (!loaded.ok) return t.fail(loaded.faults.join('\n'))
  t.equal(loaded.config.cluster.credentials.password, 'from-the-file')
  t.equal(loaded.config.listen.tls, undefined)
})

t.test('a secret from a file loses one newline at its end, and nothing else', async (t) => {
  const folder = folderOf(t)
  const secrets = { plain: 'plain', unix: 'unix\n', dos: 'dos\r\n', two: 'two\n\n', blank: ' blank \n' }
  const read = { plain: 'plain', unix: 'unix', dos: 'dos', two: 'two\n', blank: ' blank ' }
  for (const [name, text] of Object.entries(secrets)) {
    writeFileSync(join(folder, 'secret'), text)
    const loaded = await loadConfig({ file: join(folder, 'edge.yaml'), env: {} })
    t.equal(loaded.ok && loaded.config.cluster.credentials.password, read[name as keyof typeof read], name)
  }
})

t.test('a relative path starts from the folder of its file, or from the working directory', async (t) => {
  const folder = folderOf(t)
  const loaded = await loadConfig({ file: join(folder, 'edge.yaml'), env: { EDGE_ACCESS_TOKENS_KEYS: 'src' } })
  if (!loaded.ok) return t.fail(loaded.faults.join('\n'))
  t.equal(loaded.config.access.users, join(folder, 'users'), 'from the folder of the file')
  t.equal(loaded.config.access.tokens.keys, resolve('src'), 'from the working directory')
})

t.test('a fault of the environment names its variable', async (t) => {
  const folder = folderOf(t)
  const rows: readonly (readonly [Record<string, string>, string])[] = [
    [{ EDGE_LISTEN_PORT: 'many' }, 'EDGE_LISTEN_PORT listen.port: must be an integer, got "many"'],
    [{ EDGE_LISTEN_PORT: '1e3' }, 'EDGE_LISTEN_PORT listen.port: must be an integer, got "1e3"'],
    [{ EDGE_CLUSTER_DISCOVER: 'yes' }, 'EDGE_CLUSTER_DISCOVER cluster.discover: must be true or false, got "yes"'],
    [{ EDGE_LISTEN_PROT: '1' }, 'EDGE_LISTEN_PROT: is not a setting; did you mean EDGE_LISTEN_PORT?'],
    [
      { EDGE_SOMETHING_ELSE_ENTIRELY: '1' },
      'EDGE_SOMETHING_ELSE_ENTIRELY: is not a setting; remove it from the environment',
    ],
    [{ EDGE_CLUSTER_NODES: '{' }, 'EDGE_CLUSTER_NODES cluster.nodes: must be a list'],
    [{ EDGE_CLUSTER_NODES: '[{ name: x }]' }, 'EDGE_CLUSTER_NODES cluster.nodes[0].url: is missing; write it'],
    [{ EDGE_ACCESS_ROLES: '{ bob: [nobody] }' }, 'EDGE_ACCESS_ROLES access.roles.bob[0]: there is no role "nobody"'],
    [
      { EDGE_LISTEN_HOST_FILE: '/nowhere' },
      'EDGE_LISTEN_HOST_FILE: /nowhere cannot be read (ENOENT); name a readable file',
    ],
    [
      { EDGE_LISTEN_HOST: 'a', EDGE_LISTEN_HOST_FILE: 'b' },
      'EDGE_LISTEN_HOST_FILE: is set together with EDGE_LISTEN_HOST; keep one of the two',
    ],
    [
      { NODE_TLS_REJECT_UNAUTHORIZED: '0' },
      'NODE_TLS_REJECT_UNAUTHORIZED: 0 turns off the verification of all certificates; unset it, and name the CA in cluster.tls.ca',
    ],
  ]
  for (const [env, fault] of rows) {
    const loaded = await loadConfig({ file: join(folder, 'edge.yaml'), env })
    const faults = loaded.ok ? [] : loaded.faults
    t.ok(
      faults.some((line) => line.startsWith(fault)),
      `${fault}: ${faults.join(' | ')}`,
    )
  }
})

t.test('variables that Kubernetes sets for a service named edge are ignored', async (t) => {
  const folder = folderOf(t)
  const links = {
    EDGE_SERVICE_HOST: '10.0.0.1',
    EDGE_SERVICE_PORT: '55000',
    EDGE_SERVICE_PORT_API: '55000',
    EDGE_PORT: 'tcp://10.0.0.1:55000',
    EDGE_PORT_55000_TCP: 'tcp://10.0.0.1:55000',
    EDGE_PORT_55000_TCP_ADDR: '10.0.0.1',
    EDGE_OPERATIONS_PORT: 'tcp://10.0.0.1:55001',
  }
  const loaded = await loadConfig({ file: join(folder, 'edge.yaml'), env: links })
  t.ok(loaded.ok, loaded.ok ? '' : loaded.faults.join('\n'))
})

t.test('the configuration is deeply frozen, and its tables have no prototype', async (t) => {
  const folder = folderOf(t)
  const loaded = await loadConfig({ file: join(folder, 'edge.yaml'), env: {} })
  if (!loaded.ok) return t.fail(loaded.faults.join('\n'))
  t.throws(() => Object.assign(loaded.config.listen, { port: 1 }))
  t.throws(() => Object.assign(loaded.config.cluster.nodes[0] ?? {}, { url: 'x' }))
  t.equal(loaded.config.access.roles.constructor, undefined)
})
