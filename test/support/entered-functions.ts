/**
 * Measures which functions one real request enters, for four typical flows. The counts come from V8's precise coverage of a
 * built edge, or of its sources, in front of the simulator. The simulator runs in another thread, so that what it shares with
 * the edge is not counted. Only functions that every one of `ROUNDS` equal requests entered are counted: work of timers is
 * left out. Clock and timers of the edge are slow, so that the counts do not depend on load.
 */
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { Worker } from 'node:worker_threads'
import { hash } from '@node-rs/bcrypt'
import { stringify } from 'yaml'
import type { startSimulator } from '../../packages/simulator/src/index.ts'
import type { buildEdge } from '../../src/app/index.ts'
import type { loadConfig } from '../../src/config/index.ts'
import { type CalledFunction, countCalls } from './called-functions.ts'

/** The flows, and how many functions each may enter: a step for everyone who reads what a request does. */
export const FLOWS = [
  { name: 'cached GET /agents, known URL', most: 67 },
  { name: 'GET /cluster/*/logs, miss, three nodes, mode edge', most: 480 },
  { name: 'PUT /agents/groups/:group_id, with invalidation', most: 298 },
  { name: 'GET /cache', most: 154 },
] as const

const ROUNDS = 15
/** They fill what the process remembers: passwords, URLs, connections. */
const FIRST_ROUNDS = 2
/** No turn of the event loop is over on a busy machine, and no call is late. */
const SLOWNESS = 100
const MAX_TIMER_MS = 2 ** 31 - 1
const PASSWORD = 'only-for-this-measurement'
/** Where the console lies while the sources run, seen from them. */
const CONSOLE_OF_SOURCES = '../packages/console/server'

export interface Entered {
  readonly files: readonly string[]
  readonly functions: readonly EnteredFunction[]
}

interface EnteredFunction {
  readonly file: string
  /** Empty: it has none. */
  readonly name: string
  /** The place in the compiled code of the file. */
  readonly offset: number
}

/**
 * Returns what each of `FLOWS` enters. `build`: a folder with one file for each source, such as `src` or `.compiled`. No module
 * of it may be loaded before.
 */
export async function measureFlows(build: string): Promise<readonly Entered[]> {
  const restore = slowDown()
  try {
    return await measure(build, restore)
  } finally {
    restore()
  }
}

/** Slows down the clock and the timers. Returns the function that ends this for those that are made from then on. */
function slowDown(): () => void {
  const { now } = performance
  const { setTimeout, setInterval } = globalThis
  const slow = (start: typeof setTimeout | typeof setInterval) =>
    ((run: () => void, ms = 0, ...args: []) =>
      start(run, Math.min(ms * SLOWNESS, MAX_TIMER_MS), ...args)) as unknown as typeof setTimeout & typeof setInterval
  performance.now = () => now.call(performance) / SLOWNESS
  globalThis.setTimeout = slow(setTimeout)
  globalThis.setInterval = slow(setInterval)
  return () => {
    performance.now = now
    Object.assign(globalThis, { setTimeout, setInterval })
  }
}

/** `onEnd`: called before the edge ends. */
async function measure(build: string, onEnd: () => void): Promise<readonly Entered[]> {
  const load = async <Module>(...names: string[]): Promise<Module> => {
    const file = names.map((name) => join(build, name)).find((path) => existsSync(path))
    if (file === undefined) throw new Error(`${build} has no ${names.join(' or ')}: run "npm run build" first`)
    return (await import(pathToFileURL(file).href)) as Module
  }
  const app = await load<{ buildEdge: typeof buildEdge }>('app/index.js', 'app.js', 'app/index.ts')
  const config = await load<{ loadConfig: typeof loadConfig }>('config/index.js', 'config.js', 'config/index.ts')
  const cluster = await startCluster()
  const folder = await mkdtemp(join(tmpdir(), 'manager-edge-flows-'))
  await writeFile(join(folder, 'users'), `admin:${await hash(PASSWORD, 4)}\n`, { mode: 0o600 })
  const file = join(folder, 'edge.yaml')
  await writeFile(file, stringify(settings(cluster.nodes)))
  const loaded = await config.loadConfig({ file, env: {} })
  if (!loaded.ok) throw new Error(loaded.faults.join('\n'))
  let onReported = () => {}
  const logTo = {
    write: (line: string) => {
      if (line.includes('"msg":"request"')) onReported()
    },
  }
  const nextReport = () =>
    new Promise<void>((done) => {
      onReported = done
    })
  const edge = await app.buildEdge(loaded.config, { logTo })
  const { url } = await edge.start()
  try {
    return await enterFlows(url, nextReport, build)
  } finally {
    onEnd()
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

interface Expectation {
  readonly status: number
  /** A word that `Cache-Status` must contain; absent: no such header is expected. */
  readonly cacheStatus?: string
}

/** `nextReport`: resolves when the next request is logged. */
async function enterFlows(url: string, nextReport: () => Promise<void>, build: string): Promise<readonly Entered[]> {
  const authorization = `Basic ${Buffer.from(`admin:${PASSWORD}`).toString('base64')}`
  const send = async (method: string, path: string, expected: Expectation): Promise<void> => {
    const reported = nextReport()
    const response = await fetch(url + path, { method, headers: { authorization } })
    const body = (await response.json()) as { readonly error?: unknown }
    const cacheStatus = response.headers.get('cache-status')
    const isExpected = expected.cacheStatus === undefined || cacheStatus?.includes(expected.cacheStatus) === true
    if (response.status !== expected.status || body.error !== 0 || !isExpected)
      throw new Error(`${method} ${path}: ${response.status}, ${cacheStatus}, ${JSON.stringify(body).slice(0, 200)}`)
    // The request is logged and counted after its response left.
    await reported
    await setImmediate()
  }
  const calls = await countCalls()
  const roots = [build, join(build, CONSOLE_OF_SOURCES)].map((folder) => `${pathToFileURL(folder).href}/`)
  const entered = async (request: (round: number) => Promise<void>): Promise<Entered> => {
    const rounds: ReadonlyMap<string, EnteredFunction>[] = []
    for (let round = 0; round < ROUNDS + FIRST_ROUNDS; round += 1) {
      await calls.take()
      await request(round)
      const called = await calls.take()
      if (round >= FIRST_ROUNDS) rounds.push(functionsOfEdge(called, roots))
    }
    const [first = new Map<string, EnteredFunction>(), ...others] = rounds
    const functions = [...first].flatMap(([id, one]) => (others.every((round) => round.has(id)) ? one : []))
    return { files: [...new Set(functions.map(({ file }) => file))].sort(), functions }
  }
  await send('GET', '/agents', { status: 200 })
  const flows = [
    await entered(() => send('GET', '/agents', { status: 200, cacheStatus: 'hit' })),
    // Each round searches for another text, which the nodes have to do. Pages of other lengths share the parts of nodes.
    await entered((round) => send('GET', `/cluster/*/logs?search=${round}`, { status: 200, cacheStatus: 'uri-miss' })),
    await entered((round) => send('PUT', `/agents/groups/flow-${round}`, { status: 200 })),
    await entered(() => send('GET', '/cache', { status: 200 })),
  ]
  calls.stop()
  return flows
}

/** Returns each function of the edge that was called, by its file and its place there. */
function functionsOfEdge(called: readonly CalledFunction[], roots: readonly string[]): Map<string, EnteredFunction> {
  return new Map(
    called.flatMap(({ url, name, offset }) => {
      const root = roots.find((each) => url.startsWith(each))
      return root === undefined ? [] : [[`${url} ${offset}`, { file: url.slice(root.length), name, offset }] as const]
    }),
  )
}
