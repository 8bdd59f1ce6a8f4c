/** What happens to an error that no code handles: one of a connection, and any other. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { hash } from '@node-rs/bcrypt'
import t, { type Test } from 'tap'
import { stringify } from 'yaml'
import { startSimulator } from '../../../packages/simulator/src/index.ts'
import { eventually } from '../../support/eventually.ts'
import { samplesOf } from '../../support/scrape.ts'
import { program } from './program.ts'

/** Errors that a module of the test plants in the edge when a request has the header `x-plant`. */
const PLANTS = `
import { subscribe } from 'node:diagnostics_channel'
import { createWriteStream } from 'node:fs'
import { connect, createServer } from 'node:net'
import { PassThrough } from 'node:stream'
const system = (code, syscall) => Object.assign(new Error(syscall + ' ' + code), { code, syscall })
const unguarded = (socket) => socket.removeAllListeners('error')
const plants = {
  'reset of a socket': ({ socket }) => unguarded(socket).destroy(system('ECONNRESET', 'read')),
  'EPIPE of a socket': ({ socket }) => unguarded(socket).destroy(system('EPIPE', 'write')),
  'any error of a socket': ({ socket }) => unguarded(socket).destroy(new Error('planted')),
  'TLS error of a socket': ({ socket }) =>
    unguarded(socket).destroy(Object.assign(new Error('bad record mac'), { code: 'ERR_SSL_BAD_RECORD' })),
  'stream that was destroyed': () =>
    new PassThrough().destroy(Object.assign(new Error('closed'), { code: 'ERR_STREAM_PREMATURE_CLOSE' })),
  'outgoing connection': () => void connect(1, '127.0.0.1'),
  'rejection of a promise': () => void Promise.reject(system('ETIMEDOUT', 'read')),
  'defect': () => { throw new TypeError('a planted defect') },
  'rejection without a reason': () => void Promise.reject(undefined),
  'file': () => void createWriteStream('/no such folder/file'),
  'port in use': ({ socket }) => void createServer().listen(socket.localPort, '127.0.0.1'),
  'closed pipe of the log': () => { throw system('EPIPE', 'write') },
}
subscribe('http.server.request.start', (message) => {
  const plant = plants[message.request.headers['x-plant']]
  if (plant) setImmediate(plant, message)
})`
const OF_CONNECTIONS = [
  'reset of a socket',
  'EPIPE of a socket',
  'any error of a socket',
  'TLS error of a socket',
  'stream that was destroyed',
  'outgoing connection',
  'rejection of a promise',
]
const OTHERS = ['defect', 'rejection without a reason', 'file', 'port in use', 'closed pipe of the log']

const account = { username: 'edge', password: 'only-for-tests' }
const simulator = await startSimulator({ workers: 0, agents: 1, ...account })
t.teardown(() => simulator.close())
const authorization = `Basic ${btoa('admin:admin-pw')}`
const users = `admin:${await hash('admin-pw', 4)}\n`

async function started(t: Test) {
  const folder = t.testdir({ users })
  const settings = {
    listen: { host: '127.0.0.1', port: 0 },
    operations: { host: '127.0.0.1', port: 0, metrics: 'open' },
    cluster: { nodes: simulator.nodes.map(({ name, type, url }) => ({ name, type, url })), credentials: account },
    access: { users: 'users', roles: { admin: ['administrator'] } },
  }
  const file = join(folder, 'edge.yaml')
  writeFileSync(file, stringify(settings))
  const node = ['--import', `data:text/javascript,${encodeURIComponent(PLANTS)}`]
  const running = program(t, ['start'], { env: { EDGE_CONFIG: file }, node })
  const [, operationsUrl = '', url = ''] = await running.until(/"operationsUrl":"([^"]+)","url":"([^"]+)"/)
  const plant = (name: string, at = url) =>
    fetch(`${at}/agents`, { headers: { authorization, 'x-plant': name, connection: 'close' } }).then(
      () => undefined,
      () => undefined,
    )
  const get = async () => {
    const response = await fetch(`${url}/agents`, { headers: { authorization } })
    await response.arrayBuffer()
    return response.status
  }
  const counted = async () => {
    const samples = samplesOf(await (await fetch(`${operationsUrl}/metrics`)).text())
    return samples.find(({ name }) => name === 'edge_uncaught_connection_errors_total')?.value
  }
  return { ...running, url, operationsUrl, plant, get, counted }
}

t.test('an uncaught error of a connection is logged and counted, and the process goes on', async (t) => {
  const edge = await started(t)
  t.equal(await edge.get(), 200)
  t.equal(await edge.counted(), 0)
  let count = 0
  for (const at of [edge.url, edge.operationsUrl]) {
    for (const name of OF_CONNECTIONS) {
      await edge.plant(name, at)
      count += 1
      await eventually(async () => (await edge.counted()) === count)
      t.equal(await edge.get(), 200, `${name}: the next client is served`)
    }
  }
  edge.child.kill('SIGTERM')
  const { code, out } = await edge.ended
  t.equal(code, 0)
  const lines = out.split('\n').filter((line) => line.includes('"msg":"uncaught error of a connection"'))
  t.ok(lines.length > 0)
  for (const line of lines)
    t.match(JSON.parse(line), {
      level: 'error',
      time: /^\d{4}-\d\d-\d\dT[\d:.]+Z$/,
      err: { message: String, stack: String },
    })
})

t.test('any other uncaught error ends the process with 1', async (t) => {
  const endOf = async (name: string) => {
    const edge = await started(t)
    await edge.plant(name)
    return { name, ...(await edge.ended) }
  }
  for (const { name, code, out, err } of await Promise.all(OTHERS.map(endOf))) {
    t.equal(code, 1, name)
    t.match(out, /"level":"fatal",.*"msg":"uncaught error"/, name)
    t.not(err, '', `${name}: the reason is on standard error`)
  }
})
