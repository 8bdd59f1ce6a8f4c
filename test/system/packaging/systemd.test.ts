import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { installed } from '../../support/installed.ts'

const file = 'config/systemd/manager-edge.service'
const text = readFileSync(file, 'utf8')
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

t.test('systemd accepts the unit', async (t) => {
  const program = installed({ variable: 'SYSTEMD_ANALYZE', names: ['systemd-analyze'], package: 'systemd' })
  // The unit names the Node.js of a package, which the machine of the test may have elsewhere.
  const copy = join(t.testdir({}), 'manager-edge.service')
  writeFileSync(copy, text.replace('/usr/bin/node ', `${process.execPath} `))
  t.equal(execFileSync(program, ['verify', copy], { encoding: 'utf8' }), '')
  // 0 is a unit that can do nothing, 100 one without any restriction.
  const security = ['security', '--offline=true', '--threshold=20', '--no-pager', file]
  t.doesNotThrow(() => execFileSync(program, security, { stdio: 'ignore' }), 'exposure of 2.0 at most')
})
