import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { loadConfig } from '../../../src/config/index.ts'
import { installed } from '../../support/installed.ts'
import { environmentOfInstance, TEMPLATE } from '../../support/systemd.ts'

const file = 'config/systemd/manager-edge.service'
const text = readFileSync(file, 'utf8')
const template = readFileSync(TEMPLATE, 'utf8')
const directive = (name: string): string => new RegExp(`^${name}=(.*)$`, 'm').exec(text)?.[1] ?? ''

t.test('the systemd unit starts the command of the package with a configuration file', async (t) => {
  const [, options, program = '', ...rest] = directive('ExecStart').split(' ')
  t.match(readFileSync('Dockerfile', 'utf8'), `ENTRYPOINT ["node", "${options}", "dist/cli.js"]`, 'as the image does')
  t.equal(program, '/opt/manager-edge/dist/cli.js')
  t.strictSame(rest.slice(0, 2), ['start', '--config'])
  t.match(readFileSync('docs/installation.md', 'utf8'), `mkdir -p ${rest[2]?.replace(/\/[^/]+$/, '')}\n`)
})

t.test('the graceful shutdown can finish, and a wrong configuration is not restarted', async (t) => {
  const { drain } = parse(readFileSync('config/default.yaml', 'utf8')).listen
  t.ok(Number(directive('TimeoutStopSec')) > Number.parseInt(drain.limit, 10))
  t.equal(directive('Restart'), 'on-failure')
  t.equal(directive('RestartPreventExitStatus'), '2')
  t.equal(directive('ExecReload'), '/bin/kill -HUP $MAINPID')
})

t.test('the process has no privileges', async (t) => {
  t.not(directive('User'), '')
  t.match(text, /^CapabilityBoundingSet=$/m)
  for (const name of ['NoNewPrivileges', 'ProtectHome', 'PrivateTmp', 'PrivateDevices'])
    t.equal(directive(name), 'true')
  t.equal(directive('ProtectSystem'), 'strict')
})

t.test('the template differs from the unit in what each instance has for itself', async (t) => {
  const linesOf = (unit: string) => unit.split('\n').filter((line) => !line.startsWith('#'))
  const own = linesOf(template).filter((line) => !linesOf(text).includes(line))
  t.strictSame(
    own.map((line) => line.split('=')[0]),
    ['Description', 'Environment', 'EnvironmentFile'],
  )
  const others = linesOf(template).filter((line) => !own.includes(line))
  t.strictSame(
    others,
    linesOf(text).filter((line) => !line.startsWith('Description=')),
  )
})

t.test(
  'instances have their own names and ports, those of the HAProxy file; a file of an instance has others',
  async (t) => {
    const folder = t.testdir({ users: '', '7.env': 'EDGE_LISTEN_PORT=8443\nEDGE_AUDIT_FILE=/dev/stderr\n' })
    const common = {
      EDGE_CLUSTER_NODES: '[{ name: master, type: master, url: "http://127.0.0.1:1" }]',
      EDGE_CLUSTER_CREDENTIALS_USERNAME: 'edge',
      EDGE_CLUSTER_CREDENTIALS_PASSWORD: 'only-for-tests',
      EDGE_ACCESS_USERS: join(folder, 'users'),
    }
    const settingsOf = async (instance: string) => {
      const loaded = await loadConfig({ env: { ...common, ...environmentOfInstance(instance, folder) } })
      if (!loaded.ok) throw new Error(loaded.faults.join('\n'))
      const { replica, listen, operations, audit } = loaded.config
      return { name: replica.name ?? '', ports: [listen.port, operations.port], audit: audit.file }
    }
    const haproxy = readFileSync('config/haproxy.cfg', 'utf8')
    for (const instance of ['1', '2']) {
      const { name, ports } = await settingsOf(instance)
      t.match(name, new RegExp(`.-${instance}$`))
      t.match(haproxy, `server edge-1-${instance} edge-1:${ports[0]} port ${ports[1]}\n`)
    }
    t.match(await settingsOf('7'), { ports: [8443, 55_071], audit: '/dev/stderr' })
    await t.rejects(settingsOf('10'), /EDGE_LISTEN_PORT listen\.port: must be at most 65535, got 550100/)
  },
)

t.test('systemd accepts the units', async (t) => {
  const program = installed({ variable: 'SYSTEMD_ANALYZE', names: ['systemd-analyze'], package: 'systemd' })
  const folder = t.testdir({})
  for (const [name, unit] of [
    ['manager-edge.service', text],
    ['manager-edge@1.service', template],
  ] as const) {
    // The unit names the Node.js of a package, which the machine of the test may have elsewhere.
    const copy = join(folder, name)
    writeFileSync(copy, unit.replace('/usr/bin/node ', `${process.execPath} `))
    t.equal(execFileSync(program, ['verify', copy], { encoding: 'utf8' }), '')
    // 0 is a unit that can do nothing, 100 one without any restriction.
    const security = ['security', '--offline=true', '--threshold=20', '--no-pager', copy]
    t.doesNotThrow(() => execFileSync(program, security, { stdio: 'ignore' }), 'exposure of 2.0 at most')
  }
})
