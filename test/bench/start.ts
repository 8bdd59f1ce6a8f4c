/**
 * Measures the start of the built program (`npm run bench:start`): the time and the CPU time until `/readyz` is 200, and
 * until the first request has been answered. Redis and a simulated cluster are other processes. The configuration is one
 * of production: users with bcrypt, Redis, audit file, metrics and the operators' console.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { type IncomingHttpHeaders, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { hash } from '@node-rs/bcrypt'
import { stringify } from 'yaml'
import { freePort } from '../../packages/simulator/src/free-port.ts'
import { startRedis } from '../support/redis.ts'
import { readOptions } from '../support/script-options.ts'
import { nodePassword, startCluster } from './clients/parties.ts'
import { medianOf } from './cluster/measure.ts'
import { basic, user } from './contenders.ts'
import { cpuOf, pinned } from './load.ts'
import { WrongResponseError } from './verify.ts'

const { values, refuse } = readOptions({
  name: 'bench:start',
  purpose: 'Measures how long the built program takes until it is ready, and until its first response.',
  options: {
    runs: { kind: 'number', meaning: 'number of starts; default 15' },
    than: {
      kind: 'build',
      meaning: 'start another build in alternation, such as the dist of a release',
    },
  },
})

const AGENTS = 40
/** The goal for the median, in milliseconds: on an idle core. */
const GOAL_MS = 1000
/** A program that is not ready by then has failed. */
const PATIENCE_MS = 60_000
const POLL_INTERVAL_MS = 2

interface Started {
  /** Milliseconds until the first 200 of `/readyz`. */
  readonly ready: number
  /** Milliseconds until the first response. It includes one verification of a bcrypt hash. */
  readonly answered: number
  /** Milliseconds of CPU time of the process at these two moments. */
  readonly readyCpu: number
  readonly answeredCpu: number
}

const runs = values.runs ?? 15
if (runs < 1) refuse('--runs needs at least 1')
const folder = await mkdtemp(join(tmpdir(), 'manager-edge-start-'))
const redis = await startRedis()
const cluster = await startCluster({ workers: 2, agents: AGENTS, capacity: { scale: 1000 } })
const builds = [{ name: 'this build', cli: resolve('dist/cli.js') }]
if (values.than !== undefined) builds.push({ name: values.than, cli: resolve(values.than, 'cli.js') })
try {
  const found = builds.map((build) => ({ ...build, starts: [] as Started[] }))
  await writeFile(join(folder, 'users'), `${user.name}:${await hash(user.password, 10)}\n`, { mode: 0o600 })
  // The first start of each build reads its files from the disk; it is not counted.
  for (let run = 0; run <= runs; run += 1) {
    for (const { cli, starts } of found) {
      const started = await start(cli)
      if (run > 0) starts.push(started)
    }
  }
  for (const { name, starts } of found) report(name, starts)
} finally {
  cluster.close()
  await redis.close()
  await rm(folder, { recursive: true, force: true })
}

function report(name: string, starts: readonly Started[]): void {
  const median = (field: keyof Started): number => Math.round(medianOf(starts.map((each) => each[field])))
  const slowest = Math.round(Math.max(...starts.map(({ ready }) => ready)))
  console.log(
    `${name}, ${starts.length} starts, medians: ready after ${median('ready')} ms (slowest ${slowest}, CPU ${median('readyCpu')} ms), ` +
      `first response after ${median('answered')} ms (CPU ${median('answeredCpu')} ms)`,
  )
  if (name !== 'this build' || median('ready') < GOAL_MS) return
  console.log(`goal: ready in less than ${GOAL_MS} ms NOT REACHED`)
  process.exitCode = 1
}

/** Starts the program once on core 0, sends one request, and stops the program. Rejects if a response is wrong. */
async function start(cli: string): Promise<Started> {
  const [port, operations] = [await freePort(), await freePort()]
  const file = join(folder, 'edge.yaml')
  await writeFile(file, stringify(settings(port, operations)))
  const [command = '', ...args] = pinned(0, [process.execPath, cli, 'start', '--config', file])
  const began = performance.now()
  const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe'] })
  let errors = ''
  child.stderr?.on('data', (text) => {
    errors += String(text)
  })
  try {
    await untilReady(child, operations, began)
    const ready = performance.now() - began
    const readyCpu = (await cpuOf(child.pid ?? 0)) / 1000
    const asked = performance.now()
    const { status, body } = await get(port, '/agents?limit=1', { authorization: basic })
    const answered = ready + performance.now() - asked
    const answeredCpu = (await cpuOf(child.pid ?? 0)) / 1000
    verify(status, body)
    return { ready, answered, readyCpu, answeredCpu }
  } catch (error) {
    throw errors === '' ? error : new Error(`${(error as Error).message}: ${errors}`)
  } finally {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL')
      await once(child, 'exit')
    }
  }
}

async function untilReady(child: ChildProcess, port: number, began: number): Promise<void> {
  while (performance.now() - began < PATIENCE_MS) {
    if (child.exitCode !== null) throw new Error(`the program ended with ${child.exitCode}`)
    const { status } = await get(port, '/readyz', {}).catch(() => ({ status: 0 }))
    if (status === 200) return
    await new Promise((resolve) => setTimeout(resolve, POLL_INTERVAL_MS))
  }
  throw new Error(`the program was not ready after ${PATIENCE_MS} ms`)
}

/** The agents of the simulator, and the manager itself. */
function verify(status: number, body: string): void {
  const found = status === 200 ? JSON.parse(body) : undefined
  const isRight = found?.error === 0 && found.data.totalItems === AGENTS + 1 && found.data.items[0].id === '000'
  if (!isRight) throw new WrongResponseError(`first response: ${status} ${body.slice(0, 300)}`)
}

function get(
  port: number,
  path: string,
  headers: IncomingHttpHeaders,
): Promise<{ readonly status: number; readonly body: string }> {
  return new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', port, path, headers, agent: false }, (response) => {
      let body = ''
      response.setEncoding('utf8').on('data', (text) => {
        body += text
      })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body })).on('error', reject)
    })
      .on('error', reject)
      .end()
  })
}

function settings(port: number, operations: number): object {
  return {
    listen: { host: '127.0.0.1', port },
    operations: { host: '127.0.0.1', port: operations },
    cluster: {
      nodes: cluster.nodes,
      credentials: { username: 'edge', password: nodePassword },
      tls: { required: false },
    },
    cache: { redis: { url: redis.url, tls: { required: false } } },
    access: { users: 'users', roles: { [user.name]: ['administrator'] } },
    audit: { file: join(folder, `audit-${port}`) },
  }
}
