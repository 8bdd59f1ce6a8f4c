/**
 * Prints how many files and functions one real request enters, for four typical flows. The counts come from V8's precise
 * coverage of a built edge in front of the simulator; the simulator runs in another thread, so that what it shares with the
 * edge is not counted. Work of timers is left out: only functions that every one of `ROUNDS` equal requests entered are counted.
 */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { Session } from 'node:inspector/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { Worker } from 'node:worker_threads'
import { hash } from '@node-rs/bcrypt'
import { stringify } from 'yaml'
import type { startSimulator } from '../../packages/simulator/src/index.ts'
import type { buildEdge } from '../../src/app/index.ts'
import type { loadConfig } from '../../src/config/index.ts'
import { readOptions } from '../support/script-options.ts'

const FLOWS = [
  'cached GET /agents, known URL',
  'GET /cluster/*/logs, miss, three nodes, mode edge',
  'PUT /agents/groups/:group_id, with invalidation',
  'GET /cache',
]
const ROUNDS = 15
const PASSWORD = 'only-for-this-measurement'

interface Entered {
  readonly files: readonly string[]
  readonly functions: number
}

interface Expectation {
  readonly status: number
  /** A word that `Cache-Status` must contain; absent: no such header is expected. */
  readonly cacheStatus?: string
}

const { values } = readOptions({
  name: 'flows',
  purpose: 'Prints how many files and functions four typical requests enter.',
  options: {
    list: { kind: 'number', value: 'FLOW', meaning: 'print the files of one flow (1 to 4) instead' },
    than: {
      kind: 'text',
      value: 'FOLDER',
      meaning: 'also measure another build with one file per source, such as `.compiled` of another commit',
    },
    build: { kind: 'text', value: 'FOLDER', meaning: 'the build to measure (default: .compiled)' },
    json: { kind: 'flag', meaning: 'print the counts and the files as JSON' },
  },
})

const found = await measure(resolve(values.build ?? '.compiled'))
if (values.json) console.log(JSON.stringify(found))
else if (values.list !== undefined) console.log(found[values.list - 1]?.files.join('\n'))
else report(found, values.than === undefined ? undefined : await measureApart(values.than))

function report(now: readonly Entered[], before: readonly Entered[] | undefined): void {
  const shown = (entered?: Entered): string => `${entered?.files.length} files · ${entered?.functions} functions`
  for (const [at, name] of FLOWS.entries()) {
    const was = before === undefined ? '' : ` (before: ${shown(before[at])})`
    console.log(`${name}: ${shown(now[at])}${was}`)
  }
}

/** Measures another build in a separate process, so that the modules of the two do not mix. */
async function measureApart(build: string): Promise<readonly Entered[]> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [...process.execArgv, import.meta.filename, '--json', '--build', build],
    { maxBuffer: 1 << 24 },
  )
  return JSON.parse(stdout) as readonly Entered[]
}

async function measure(build: string): Promise<readonly Entered[]> {
  const load = async <Module>(...names: string[]): Promise<Module> => {
    const file = names.map((name) => join(build, name)).find((path) => existsSync(path))
    if (file === undefined) throw new Error(`${build} has no ${names.join(' or ')}: run "npm run build" first`)
    return (await import(pathToFileURL(file).href)) as Module
  }
  const app = await load<{ buildEdge: typeof buildEdge }>('app/index.js', 'app.js')
  const config = await load<{ loadConfig: typeof loadConfig }>('config/index.js', 'config.js')
  const cluster = await startCluster()
  const folder = await mkdtemp(join(tmpdir(), 'manager-edge-flows-'))
  await writeFile(join(folder, 'users'), `admin:${await hash(PASSWORD, 4)}\n`, { mode: 0o600 })
  const file = join(folder, 'edge.yaml')
  await writeFile(file, stringify(settings(cluster.nodes)))
  const loaded = await config.loadConfig({ file, env: {} })
  if (!loaded.ok) throw new Error(loaded.faults.join('\n'))
  const edge = await app.buildEdge(loaded.config, { logTo: { write: () => undefined } })
  const { url } = await edge.start()
  try {
    return await measureFlows(url, build)
  } finally {
    await edge.drain(0)
    await cluster.thread.terminate()
    await rm(folder, { recursive: true, force: true })
  }
}

interface ClusterThread {
  readonly thread: Worker
  readonly nodes: readonly SimulatedNode[]
}

type SimulatedNode = Pick<Awaited<ReturnType<typeof startSimulator>>['nodes'][number], 'name' | 'type' | 'url'>

/** Starts the simulator from its source, in another thread. */
async function startCluster(): Promise<ClusterThread> {
  const url = pathToFileURL(resolve('packages/simulator/src/index.ts')).href
  const script = `
    const { parentPort, workerData: { register, url, options } } = require('node:worker_threads')
    import(register).then(() => import(url)).then(async ({ startSimulator }) => {
      const { nodes } = await startSimulator(options)
      parentPort.postMessage(nodes.map(({ name, type, url }) => ({ name, type, url })))
    })`
  const register = pathToFileURL(resolve('test/support/typescript/register.mjs')).href
  const options = { workers: 2, agents: 30, password: PASSWORD }
  const thread = new Worker(script, { eval: true, workerData: { register, url, options } })
  const [nodes] = (await once(thread, 'message')) as [readonly SimulatedNode[]]
  return { thread, nodes }
}

function settings(nodes: readonly SimulatedNode[]): object {
  return {
    listen: { host: '127.0.0.1', port: 0, drain: { delay: '0s', limit: '2s' } },
    operations: { host: '127.0.0.1', port: 0 },
    cluster: {
      nodes: nodes.map(({ name, type, url }) => ({ name, type, url })),
      credentials: { username: 'edge', password: PASSWORD },
      distribution: 'edge',
    },
    access: { users: 'users', roles: { admin: ['administrator'] } },
    // A miss stays a miss: what other flows fetch must not be refreshed while one is measured.
    cache: { ttl: { agents: '1h' } },
  }
}

async function measureFlows(url: string, build: string): Promise<readonly Entered[]> {
  const authorization = `Basic ${Buffer.from(`admin:${PASSWORD}`).toString('base64')}`
  const send = async (method: string, path: string, expected: Expectation): Promise<void> => {
    const response = await fetch(url + path, { method, headers: { authorization } })
    const body = (await response.json()) as { readonly error?: unknown }
    const cacheStatus = response.headers.get('cache-status')
    const isExpected = expected.cacheStatus === undefined || cacheStatus?.includes(expected.cacheStatus) === true
    if (response.status !== expected.status || body.error !== 0 || !isExpected)
      throw new Error(`${method} ${path}: ${response.status}, ${cacheStatus}, ${JSON.stringify(body).slice(0, 200)}`)
  }
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  const entered = async (request: (round: number) => Promise<void>): Promise<Entered> => {
    const rounds: Set<string>[] = []
    // The first two rounds fill what the process remembers: passwords, URLs, connections.
    for (let round = 0; round < ROUNDS + 2; round += 1) {
      await session.post('Profiler.takePreciseCoverage')
      await request(round)
      // The request is logged and counted after its response left.
      await new Promise((done) => setTimeout(done, 50))
      const { result } = await session.post('Profiler.takePreciseCoverage')
      if (round >= 2) rounds.push(calledFunctions(result, build))
    }
    const [first = new Set<string>(), ...others] = rounds
    const always = [...first].filter((name) => others.every((round) => round.has(name)))
    return { files: [...new Set(always.map((name) => name.split(' ')[0] ?? ''))].sort(), functions: always.length }
  }
  await send('GET', '/agents', { status: 200 })
  const flows = [
    await entered(() => send('GET', '/agents', { status: 200, cacheStatus: 'hit' })),
    // Each round searches for another text, which the nodes have to do. Pages of other lengths share the parts of nodes.
    await entered((round) => send('GET', `/cluster/*/logs?search=${round}`, { status: 200, cacheStatus: 'uri-miss' })),
    await entered((round) => send('PUT', `/agents/groups/flow-${round}`, { status: 200 })),
    await entered(() => send('GET', '/cache', { status: 200 })),
  ]
  session.disconnect()
  return flows
}

interface ScriptCoverage {
  readonly url: string
  readonly functions: readonly {
    readonly functionName: string
    readonly ranges: readonly { readonly startOffset: number; readonly count: number }[]
  }[]
}

/** `file offset` of each function of the build that was called. */
function calledFunctions(scripts: readonly ScriptCoverage[], build: string): Set<string> {
  const root = `${pathToFileURL(build).href}/`
  const called = new Set<string>()
  for (const { url, functions } of scripts) {
    if (!url.startsWith(root)) continue
    for (const { ranges } of functions) {
      const [range] = ranges
      if (range !== undefined && range.count > 0) called.add(`${url.slice(root.length)} ${range.startOffset}`)
    }
  }
  return called
}
