/** The processes of the growth measurements: an origin, and edges with as many users, entries and replicas as a row has. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { hash } from '@node-rs/bcrypt'
import { stringify } from 'yaml'
import { freePort } from '../../../packages/simulator/src/free-port.ts'
import { type HeapUse, heapHook, readHeap } from '../../support/heap.ts'
import { runnableOf } from '../../support/typescript/script.ts'
import { certificate, launch, type Running } from '../contenders.ts'

export interface GrowthEdge extends Running {
  readonly port: number
  /** Collects garbage, and returns the bytes that are in use then. */
  heap(): Promise<HeapUse>
}

export interface GrowthEdgeOptions {
  /** A folder for the files of all edges. */
  readonly folder: string
  readonly origin: string
  readonly redis: string
  readonly tls?: boolean
  /** `cache.localBytes`; absent: the default. */
  readonly localBytes?: number
  /** Users with their roles; default 1. */
  readonly users?: number
}

const running = new Set<number>()
/** A run that is interrupted leaves no process behind. */
process.on('exit', () => {
  for (const pid of running) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It has ended.
    }
  }
})
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

/** As `launch`. The process ends with this one. */
async function launchHere(...args: Parameters<typeof launch>): Promise<Running> {
  const launched = await launch(...args)
  running.add(launched.pid)
  const stop = async () => {
    await launched.stop()
    running.delete(launched.pid)
  }
  return { ...launched, stop }
}

const PASSWORD = 'growth-password'
/** The smallest cost that the edge accepts, about 1 ms: a row with 10,000 users must be ready within seconds. */
const BCRYPT_COST = 4

export const userName = (index: number): string => `user-${index}`
export const basicOf = (index: number): string =>
  `Basic ${Buffer.from(`${userName(index)}:${PASSWORD}`).toString('base64')}`

export async function startOrigin(): Promise<Running> {
  const port = await freePort()
  const script = fileURLToPath(runnableOf(new URL('./origin.ts', import.meta.url)))
  return launchHere('origin', ['node', ...process.execArgv, script, String(port)], `http://127.0.0.1:${port}`)
}

/** Starts the built edge with Redis, log, metrics and limits as in production; rate limits are not reached. */
export async function startEdge(options: GrowthEdgeOptions): Promise<GrowthEdge> {
  const { folder, origin, redis, tls = false, users = 1, localBytes } = options
  const [port, operations] = [await freePort(), await freePort()]
  const own = join(folder, `growth-${port}`)
  await mkdir(own)
  const names = Array.from({ length: users }, (_, index) => userName(index))
  // All users have the same password: the salt of a bcrypt hash belongs to the hash and not to the name.
  const passwordHash = await hash(PASSWORD, BCRYPT_COST)
  await writeFile(join(own, 'users'), names.map((name) => `${name}:${passwordHash}\n`).join(''), { mode: 0o600 })
  const settings = {
    listen: { host: '127.0.0.1', port, tls: tls ? certificate : 'off', timeouts: { idle: '10m' } },
    operations: { host: '127.0.0.1', port: operations },
    cluster: {
      discover: false,
      nodes: [{ name: 'master', type: 'master', url: origin }],
      credentials: { username: 'edge', password: 'bench' },
      tls: { required: false },
    },
    cache: {
      ttl: { agents: '1h' },
      // Each entry is a separate response, not one that is computed from a snapshot.
      snapshots: { groups: [] },
      // On a busy machine the default would turn hits into misses.
      redis: { url: redis, timeout: '1s', tls: { required: false } },
      ...(localBytes !== undefined && { localBytes: `${localBytes}B` }),
    },
    access: {
      users: 'users',
      roles: Object.fromEntries(names.map((name) => [name, ['administrator']])),
      limits: { requestsPerSecond: 1_000_000, hitsPerSecond: 1_000_000 },
    },
  }
  await writeFile(join(own, 'edge.yaml'), stringify(settings))
  const heapFile = join(own, 'heap.json')
  const build = resolve(fileURLToPath(new URL('../../../dist', import.meta.url)), 'cli.js')
  const command = ['node', '--import', heapHook(heapFile), build, 'start', '--config', join(own, 'edge.yaml')]
  const launched = await launchHere('edge', command, `${tls ? 'https' : 'http'}://127.0.0.1:${port}`)
  return { ...launched, port, heap: () => readHeap(launched.pid, heapFile) }
}
