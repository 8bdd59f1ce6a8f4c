import { writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { hash } from '@node-rs/bcrypt'
import t, { type Test } from 'tap'
import { stringify } from 'yaml'
import { describeStartError } from '../../../src/server/exit.ts'
import { formatLine } from '../../../src/server/logs.ts'
import { startSimulator } from '../../../src/simulator/index.ts'
import { program, result } from './program.ts'

const account = { username: 'edge', password: 'only-for-tests' }
const simulator = await startSimulator({ workers: 1, agents: 3, ...account })
t.teardown(() => simulator.close())
const users = `admin:${await hash('admin-pw', 4)}\n`
const authorization = `Basic ${btoa('admin:admin-pw')}`

type Settings = Record<string, unknown>

/** A folder with settings that work, and the path of its file. */
function writeConfig(t: Test, change: (settings: { [group: string]: Settings }) => void = () => undefined): string {
  const folder = t.testdir({ users, 'bad.crt': 'no certificate' })
  const settings: { [group: string]: Settings } = {
    listen: { port: 0, drain: { delay: '0s', limit: '10s' } },
    operations: { port: 0 },
    cluster: { nodes: simulator.nodes.map(({ name, type, url }) => ({ name, type, url })), credentials: account },
    access: { users: 'users', roles: { admin: ['administrator'] } },
  }
  change(settings)
  const file = join(folder, 'edge.yaml')
  writeFileSync(file, stringify(settings))
  return file
}

/** Started as in the image: objects have no `__proto__` there. */
async function started(t: Test, file: string) {
  const running = program(t, ['start'], { env: { EDGE_CONFIG: file }, node: ['--disable-proto=throw'] })
  const found = await running.until(/"operationsUrl":"([^"]+)","url":"([^"]+)"/)
  return { ...running, operationsUrl: found[1] ?? '', url: found[2] ?? '' }
}

t.test('the edge serves until SIGTERM and exits with code 0', async (t) => {
  const edge = await started(t, writeConfig(t))
  t.equal((await fetch(`${edge.operationsUrl}/readyz`)).status, 200)
  for (const path of ['/agents', '/rules?limit=1', '/manager/info', '/syscheck/001']) {
    t.equal((await fetch(edge.url + path, { headers: { authorization } })).status, 200, path)
  }
  t.equal((await fetch(`${edge.url}/agents`)).status, 401)
  edge.child.kill('SIGTERM')
  const { code, out, err } = await edge.ended
  t.equal(code, 0)
  t.equal(err, '')
  const messages = out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).msg)
  t.ok(
    messages.includes('draining') && messages.includes('ended'),
    'every line is JSON, the last ones are about the shutdown',
  )
})

t.test('while the edge drains, it serves requests and is not ready', async (t) => {
  const file = writeConfig(t, ({ listen }) => Object.assign(listen ?? {}, { drain: { delay: '1s', limit: '10s' } }))
  const edge = await started(t, file)
  edge.child.kill('SIGINT')
  await edge.until(/draining/)
  const ready = await fetch(`${edge.operationsUrl}/readyz`)
  t.equal(ready.status, 503)
  t.strictSame(await ready.json(), { status: 'not ready', reasons: ['draining'] })
  const answer = await fetch(`${edge.url}/agents`, { headers: { authorization } })
  t.equal(answer.status, 200)
  t.equal(answer.headers.get('connection'), 'close')
  t.equal((await edge.ended).code, 0)
})

t.test('a second signal ends the process at once', async (t) => {
  const file = writeConfig(t, ({ listen }) => Object.assign(listen ?? {}, { drain: { delay: '60s', limit: '90s' } }))
  const edge = await started(t, file)
  edge.child.kill('SIGTERM')
  await edge.until(/draining/)
  edge.child.kill('SIGTERM')
  t.equal((await edge.ended).code, 143)
})

t.test('an invalid configuration prints every fault on standard error and exits with code 2', async (t) => {
  const file = writeConfig(t, (settings) => Object.assign(settings, { listen: { prot: 1 }, log: { level: 'loud' } }))
  const { code, out, err } = await result(t, ['start', '--config', file])
  t.equal(code, 2)
  t.equal(out, '')
  t.strictSame(err.trim().split('\n').length, 2)
  t.match(err, /edge\.yaml:\d+:\d+ listen\.prot: is not a setting; did you mean "port"\?/)
})

t.test('a failed start prints one line with a remedy and exits with code 1', async (t) => {
  const taken = createServer()
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
  t.teardown(() => taken.close())
  const { port } = taken.address() as { port: number }
  const rows = {
    'port in use': [
      { listen: { port } },
      /listen\.port: 127\.0\.0\.1:\d+ is in use; .*\(EDGE_LISTEN_PORT, or demo --port\)/,
    ],
    'an audit in no folder': [
      { audit: { file: 'nowhere/audit' } },
      /audit\.file: \S+nowhere\/audit cannot be opened \(ENOENT\)/,
    ],
    'a users file that is none': [{ access: { users: 'bad.crt' } }, /users file \S+bad\.crt: line 1: no colon/],
  } as const
  for (const [name, [change, message]] of Object.entries(rows)) {
    const file = writeConfig(t, (settings) => Object.assign(settings, change))
    const { code, out, err } = await result(t, ['start', '--config', file])
    t.equal(code, 1, `${name}: code`)
    t.match(err, /^manager-edge cannot start: [^\n]+\n$/, `${name}: one line: ${err}`)
    t.match(err, message, `${name}: says what is wrong`)
    t.notMatch(err + out, '    at ', `${name}: no stack`)
  }
})

t.test('each cause of a failed start has its own message', async (t) => {
  const config = { listen: { host: '0.0.0.0', port: 443 }, operations: { host: '127.0.0.1', port: 55_001 } }
  const rows = [
    [
      { code: 'EADDRINUSE', port: 55_001, address: '127.0.0.1' },
      'operations.port: 127.0.0.1:55001 is in use; stop the process that listens there, or choose another port (EDGE_OPERATIONS_PORT, or demo --operations-port)',
    ],
    [
      { code: 'EACCES', port: 443, address: '0.0.0.0' },
      'listen.port: 0.0.0.0:443 is not allowed for this user; choose a port above 1023',
    ],
    [
      { code: 'EADDRNOTAVAIL', port: 443, address: '192.0.2.1' },
      'listen.host: this machine has no address 192.0.2.1; choose an address of this machine (EDGE_LISTEN_HOST)',
    ],
    [new Error('two\n  lines'), 'two lines'],
    ['no error at all', 'no error at all'],
  ] as const
  for (const [fault, line] of rows) t.equal(describeStartError(fault, config), line)
})

t.test('log.format text writes one line per event', async (t) => {
  const line = (fields: object) => formatLine(JSON.stringify({ level: 30, time: 0, msg: 'request', ...fields }))
  t.equal(line({ status: 200, route: '/agents' }), '00:00:00.000 INFO  request status=200 route=/agents\n')
  t.equal(
    line({ caller: 'a\nb' }),
    '00:00:00.000 INFO  request caller="a\\nb"\n',
    'a line break in a value stays inside the line',
  )
  t.equal(line({ msg: 'x\r\ny' }), '00:00:00.000 INFO  "x\\r\\ny"\n')
})
