/** The built program as a process: `dist/cli.js start` with a configuration file, as an operator runs it. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { hash } from '@node-rs/bcrypt'
import { Agent, request } from 'undici'
import { stringify } from 'yaml'
import { freePort } from '../../../packages/simulator/src/free-port.ts'
import { merge, type Settings } from '../../support/edge.ts'
import { eventually } from '../../support/eventually.ts'
import { heapHook, readHeap } from '../../support/heap.ts'
import { type Sample, samplesOf } from '../../support/scrape.ts'

export interface EdgeProcessOptions {
  readonly nodes: readonly { readonly name: string; readonly type: 'master' | 'worker'; readonly url: string }[]
  /** Merged over the settings of all edges here. */
  readonly settings?: Settings
  readonly env?: Readonly<Record<string, string>>
  readonly hasHeapHook?: true
  /** The program of Node; default: that of this process. */
  readonly executable?: string
  /** The folder of a build of the edge; default: that of this tree. */
  readonly build?: string
  /** Further files of its folder, by name. */
  readonly files?: Readonly<Record<string, string>>
}

export interface EdgeProcess {
  readonly url: string
  readonly port: number
  readonly operationsUrl: string
  readonly operationsPort: number
  readonly folder: string
  readonly pid: number
  /** Sends SIGSTOP: connections stay open, but the process does not respond. */
  pause(): void
  resume(): void
  /** Sends SIGKILL. Resolves when the process has ended. */
  kill(): Promise<void>
  signal(name: NodeJS.Signals): void
  /** Resolves with the exit code when the process has ended. */
  ended(): Promise<number | null>
  /** Starts the process again on the same ports, from now on with this build. Resolves when it is ready. */
  start(build?: string): Promise<void>
  /** Merges settings over the present ones and replaces the configuration file. */
  configure(settings: Settings): Promise<void>
  readiness(): Promise<number>
  metrics(): Promise<Sample[]>
  /** Resident memory in bytes. */
  memory(): Promise<number>
  /** Collects garbage, and returns the bytes in use then: of objects, and outside the heap. Only with `hasHeapHook`. */
  held(): Promise<number>
  openFiles(): Promise<number>
  /** Every log line so far, of all its processes. */
  readonly logged: readonly string[]
  close(): Promise<void>
}

export const PASSWORD = 'only-for-tests'
export const BUILD = fileURLToPath(new URL('../../../dist', import.meta.url))
export const authorization = `Basic ${Buffer.from('admin:admin-pw').toString('base64')}`
export const headers = { authorization }

const children = new Set<ChildProcess>()
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL')
})
// A test runner ends a test that takes too long with SIGTERM: then exit runs the handler above.
process.once('SIGTERM', () => process.exit(143))
/** Each request has its own connection. The certificates are those of tests. */
const dispatcher = new Agent({ pipelining: 0, connect: { rejectUnauthorized: false } })

/** A start takes this long only if the cores are busy. */
const START_PATIENCE_MS = 90_000

export async function startEdgeProcess(options: EdgeProcessOptions): Promise<EdgeProcess> {
  const folder = await mkdtemp(join(tmpdir(), 'manager-edge-process-'))
  const file = join(folder, 'edge.yaml')
  const heapFile = join(folder, 'heap.json')
  const [port, operationsPort] = [await freePort(), await freePort()]
  // Cost 4 is the minimum of bcrypt: a test needs no protection against guessing.
  await writeFile(join(folder, 'users'), `admin:${await hash('admin-pw', 4)}\n`, { mode: 0o600 })
  for (const [name, text] of Object.entries(options.files ?? {}))
    await writeFile(join(folder, name), text, { mode: 0o600 })
  let settings = merge(basic(options, port, operationsPort), options.settings ?? {})
  const write = async () => {
    await writeFile(`${file}.new`, stringify(settings), { mode: 0o600 })
    await rename(`${file}.new`, file)
  }
  await write()
  const hasTls = (settings.operations as { tls?: unknown }).tls !== undefined
  const operationsUrl = `${hasTls ? 'https' : 'http'}://127.0.0.1:${operationsPort}`
  const read = async (path: string) => {
    const { statusCode, body } = await request(operationsUrl + path, { dispatcher })
    return { status: statusCode, text: await body.text() }
  }
  const readiness = () =>
    read('/readyz').then(
      ({ status }) => status,
      () => 0,
    )
  const logged: string[] = []
  let child: ChildProcess
  let { build = BUILD } = options
  const start = async (next = build) => {
    build = next
    const hook = options.hasHeapHook && { NODE_OPTIONS: `--import=${heapHook(heapFile)}` }
    child = run(file, { ...options, build, env: { ...options.env, ...hook } }, logged)
    await eventually(async () => {
      if (child.exitCode !== null)
        throw new Error(`the edge ended with ${child.exitCode}: ${logged.slice(-5).join('')}`)
      return (await readiness()) === 200
    }, START_PATIENCE_MS)
  }
  await start()
  const ended = () => endOf(child)
  const kill = () => {
    child.kill('SIGKILL')
    return ended()
  }
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    operationsUrl,
    operationsPort,
    folder,
    logged,
    get pid() {
      return child.pid ?? 0
    },
    pause: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
    kill: async () => void (await kill()),
    signal: (name) => void child.kill(name),
    ended,
    start,
    readiness,
    async configure(next) {
      settings = merge(settings, next)
      await write()
    },
    metrics: async () => samplesOf((await read('/metrics')).text),
    memory: async () => 1024 * Number(/VmRSS:\s+(\d+)/.exec(await readFile(`/proc/${child.pid}/status`, 'utf8'))?.[1]),
    held: async () => {
      const { heapUsed, external } = await readHeap(child.pid ?? 0, heapFile)
      return heapUsed + external
    },
    openFiles: async () => (await readdir(`/proc/${child.pid}/fd`)).length,
    async close() {
      await kill()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

function run(file: string, { env: extra, executable, build }: EdgeProcessOptions, logged: string[]): ChildProcess {
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith('EDGE_') && name !== 'NODE_OPTIONS')
  const env = { ...Object.fromEntries(own), ...extra }
  const child = spawn(executable ?? process.execPath, [join(build ?? BUILD, 'cli.js'), 'start', '--config', file], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  children.add(child)
  child.once('exit', () => children.delete(child))
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (text) => logged.push(String(text)))
  return child
}

function endOf(child: ChildProcess): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve(child.exitCode)
  return new Promise((resolve) => void child.once('exit', (code) => resolve(code)))
}

/** Default settings, except places, users, and the rate limit of the one caller who sends the whole load. */
function basic({ nodes }: EdgeProcessOptions, port: number, operationsPort: number): Settings {
  return {
    listen: { host: '127.0.0.1', port },
    operations: { host: '127.0.0.1', port: operationsPort, metrics: 'open' },
    cluster: {
      discover: false,
      nodes: nodes.map(({ name, type, url }) => ({ name, type, url })),
      credentials: { username: 'edge', password: PASSWORD },
    },
    access: { users: 'users', roles: { admin: ['administrator'] }, limits: { requestsPerSecond: 1_000_000 } },
  }
}
