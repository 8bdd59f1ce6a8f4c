import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { Agent, get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hash } from '@node-rs/bcrypt'
import t from 'tap'
import { stringify } from 'yaml'
import { startSimulator } from '../../../packages/simulator/src/index.ts'
import { eventually } from '../../support/eventually.ts'

const CLIENTS = 60
const authorization = `Basic ${Buffer.from('admin:admin-pw').toString('base64')}`

/** Counts what a client under load must never see. */
class Tally {
  answered = 0
  closing = 0
  readonly bad: string[] = []
}

/** Sends requests one after the other over a persistent connection, until the edge refuses new connections. */
async function client(url: string, tally: Tally, stopped: () => boolean): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  while (!stopped()) {
    const refused = await new Promise<boolean>((resolve) => {
      const request = get(`${url}/agents?limit=1`, { agent, headers: { authorization } }, (response) => {
        response.resume()
        if (response.headers.connection === 'close') tally.closing += 1
        if (response.statusCode !== 200) tally.bad.push(String(response.statusCode))
        response.on('end', () => {
          tally.answered += 1
          resolve(false)
        })
        response.on('aborted', () => tally.bad.push('cut in the middle'))
      })
      request.on('error', (fault: NodeJS.ErrnoException) => {
        // Expected once the port is closed: readyz has reported it to the balancer in time.
        if (fault.code === 'ECONNREFUSED') return resolve(true)
        tally.bad.push(`${fault.code} on a ${request.reusedSocket ? 'reused' : 'new'} connection`)
        resolve(false)
      })
    })
    if (refused) break
  }
  agent.destroy()
}

async function listening(process: ChildProcess): Promise<{ url: string; operationsUrl: string }> {
  let output = ''
  process.stdout?.setEncoding('utf8')
  process.stderr?.setEncoding('utf8')
  process.stderr?.on('data', (text: string) => (output += text))
  return new Promise((resolve, reject) => {
    process.on('exit', (code) => reject(new Error(`ended with ${code}: ${output}`)))
    process.stdout?.on('data', (text: string) => {
      output += text
      const [url, operationsUrl] = output.match(/http:\/\/127\.0\.0\.1:\d+/g) ?? []
      if (url !== undefined && operationsUrl !== undefined) resolve({ url, operationsUrl })
    })
  })
}

t.test('SIGTERM under load: no reset, no 503, nothing cut', async (t) => {
  const simulator = await startSimulator({ workers: 1, agents: 5, username: 'edge', password: 'only-for-tests' })
  const folder = await mkdtemp(join(tmpdir(), 'manager-edge-'))
  t.teardown(async () => {
    await simulator.close()
    await rm(folder, { recursive: true, force: true })
  })
  await writeFile(join(folder, 'users'), `admin:${await hash('admin-pw', 4)}\n`, { mode: 0o600 })
  const settings = {
    listen: { host: '127.0.0.1', port: 0, drain: { delay: '5s', limit: '60s' } },
    operations: { host: '127.0.0.1', port: 0 },
    cluster: {
      nodes: simulator.nodes.map(({ name, type, url }) => ({ name, type, url })),
      credentials: { username: 'edge', password: 'only-for-tests' },
      limits: { inFlight: 64, queue: 1000 },
    },
    access: { users: 'users', roles: { admin: ['administrator'] }, limits: { requestsPerSecond: 1_000_000 } },
  }
  await writeFile(join(folder, 'edge.yaml'), stringify(settings))
  const edge = spawn(process.execPath, ['dist/cli.js', 'start', '--config', join(folder, 'edge.yaml')])
  const { url, operationsUrl } = await listening(edge)
  edge.removeAllListeners('exit')

  const tally = new Tally()
  let stopped = false
  const clients = Array.from({ length: CLIENTS }, () => client(url, tally, () => stopped))
  await eventually(() => tally.answered > 5 * CLIENTS)
  const before = tally.answered
  t.equal((await fetch(`${operationsUrl}/readyz`)).status, 200)

  edge.kill('SIGTERM')
  await eventually(async () => (await fetch(`${operationsUrl}/readyz`)).status === 503)
  t.equal((await fetch(`${operationsUrl}/livez`)).status, 200, 'alive')
  const [code] = await once(edge, 'exit')
  stopped = true
  await Promise.all(clients)
  t.equal(code, 0, 'exit code')
  t.strictSame(tally.bad, [], 'no client has to repeat a request')
  t.ok(tally.answered > before, 'requests after the signal are answered')
  t.ok(tally.closing > 0, 'with Connection: close')
})
