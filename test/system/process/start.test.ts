import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { join } from 'node:path'
import { hash } from '@node-rs/bcrypt'
import t, { type Test } from 'tap'
import { stringify } from 'yaml'
import { startSimulator } from '../../../packages/simulator/src/index.ts'
import { formatLine } from '../../../src/server/logs.ts'
import { program } from './program.ts'

const account = { username: 'edge', password: 'only-for-tests' }
const simulator = await startSimulator({ workers: 1, agents: 3, ...account })
t.teardown(() => simulator.close())
const users = `admin:${await hash('admin-pw', 4)}\n`
const authorization = `Basic ${btoa('admin:admin-pw')}`

type Settings = Record<string, unknown>

/** A folder with settings that work, and the path of its file. */
function writeConfig(t: Test, change: (settings: { [group: string]: Settings }) => void = () => undefined): string {
  const folder = t.testdir({ users })
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

/** A master that accepts connections, and answers on them once `open` is called: a start waits for its layout. */
async function slowMaster(t: Test) {
  let open = (): void => undefined
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  const server = createServer((client) => {
    t.teardown(() => client.destroy())
    client.on('error', () => client.destroy())
    void opened.then(() => {
      const node = connect(Number(new URL(simulator.nodes[0]?.url ?? '').port), '127.0.0.1')
      node.on('error', () => client.destroy())
      client.pipe(node).pipe(client)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const file = writeConfig(t, ({ cluster = {} }) => {
    cluster.nodes = [{ name: 'n1', type: 'master', url: `http://127.0.0.1:${port}` }]
    cluster.layout = 'auto'
  })
  return { file, asked: once(server, 'connection'), open }
}

t.test('SIGTERM during the start ends the edge at once, with exit code 0', async (t) => {
  const { file, asked } = await slowMaster(t)
  const edge = program(t, ['start', '--config', file])
  await asked
  edge.child.kill('SIGTERM')
  t.match(await edge.ended, { code: 0, err: '' })
})

/** Sends a signal to the process before it loads each of its modules. */
const signalAtEachModule = `
  import { register } from 'node:module'
  const hook = \`export const load = (url, context, next) => {
    if (url.includes('/program/')) process.kill(process.pid, 'SIGHUP')
    return next(url, context)
  }\`
  register('data:text/javascript,' + encodeURIComponent(hook))`

t.test('SIGHUP while the modules of the edge load reloads the edge once it listens', async (t) => {
  const node = ['--import', `data:text/javascript,${encodeURIComponent(signalAtEachModule)}`]
  const edge = program(t, ['start', '--config', writeConfig(t)], { node })
  const [lines] = await edge.until(/[\s\S]*audit reopened/)
  t.match(lines, /"listening"/)
  edge.child.kill('SIGTERM')
  t.match(await edge.ended, { code: 0, err: '' })
})

t.test('SIGHUP during the start reloads the edge once it listens', async (t) => {
  const { file, asked, open } = await slowMaster(t)
  const edge = program(t, ['start', '--config', file])
  await asked
  edge.child.kill('SIGHUP')
  open()
  const [lines] = await edge.until(/[\s\S]*audit reopened/)
  t.match(lines, /"listening"/)
  edge.child.kill('SIGTERM')
  t.match(await edge.ended, { code: 0, err: '' })
})

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
  const file = writeConfig(t, ({ listen }) => Object.assign(listen ?? {}, { drain: { delay: '60s', limit: '90s' } }))
  const edge = await started(t, file)
  edge.child.kill('SIGINT')
  await edge.until(/draining/)
  const ready = await fetch(`${edge.operationsUrl}/readyz`)
  t.equal(ready.status, 503)
  t.strictSame(await ready.json(), { status: 'not ready', reasons: ['draining'] })
  const answer = await fetch(`${edge.url}/agents`, { headers: { authorization } })
  t.equal(answer.status, 200)
  t.equal(answer.headers.get('connection'), 'close')
})

t.test('a second signal ends the process at once', async (t) => {
  const file = writeConfig(t, ({ listen }) => Object.assign(listen ?? {}, { drain: { delay: '60s', limit: '90s' } }))
  const edge = await started(t, file)
  edge.child.kill('SIGTERM')
  await edge.until(/draining/)
  edge.child.kill('SIGTERM')
  t.equal((await edge.ended).code, 143)
})

t.test('log.format text writes one line per event', async (t) => {
  const line = (fields: object) =>
    formatLine(JSON.stringify({ level: 'info', time: '1970-01-01T00:00:00.000Z', msg: 'request', ...fields }))
  t.equal(line({ status: 200, route: '/agents' }), '00:00:00.000 INFO  request status=200 route=/agents\n')
  t.equal(
    line({ caller: 'a\nb' }),
    '00:00:00.000 INFO  request caller="a\\nb"\n',
    'a line break in a value stays inside the line',
  )
  t.equal(line({ msg: 'x\r\ny' }), '00:00:00.000 INFO  "x\\r\\ny"\n')
})
