/** The upstream and the replicas as child processes, which tests can pause and kill. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { hash } from '@node-rs/bcrypt'
import { stringify } from 'yaml'
import { freePort } from '../../../packages/simulator/src/free-port.ts'
import type { Layout } from '../../../src/core/node-call.ts'
import { forkScript } from '../../support/typescript/script.ts'
import { MEMORY_REQUEST, type MemoryUse } from './memory-request.ts'

/** Milliseconds: `delay` is the maximum of a random delay before and after an action, `steady` a fixed one before. */
export interface UpstreamBehavior {
  readonly delay: number
  readonly steady?: number
  /** Milliseconds between the action of a GET and its response, in addition. */
  readonly held?: number
  /** Calls whose path ends like this take `ms` milliseconds more. */
  readonly slow?: { readonly path: string; readonly ms: number }
  /** Answers with this status and no body instead. */
  readonly status?: number
  /** Bytes that every row has in addition. */
  readonly padding?: number
  readonly heedsBypass: boolean
}

/** Returns the value that the write of the path in the query has set, without the edge. */
export const VALUE_PATH = '/value'

/** Calls since the last report, and the maximum of concurrent calls. */
export interface CallReport {
  readonly calls: number
  /** Calls by method and path. */
  readonly byPath: Readonly<Record<string, number>>
  readonly maxConcurrent: number
}
/** A read or a write of a register. `at`: milliseconds since 1970. `id`: header `x-request-id` of the call. */
export interface UpstreamAction {
  readonly at: number
  /** Without the query, such as `/agents/001`. */
  readonly path: string
  /** After a write: the new value. */
  readonly value: number
  readonly id: string
}
export type FromUpstream =
  | CallReport
  | { readonly actions: readonly UpstreamAction[] }
  | { readonly ports: readonly number[] }

export interface Upstream {
  readonly url: string
  /** One for each node; the first is `url`. */
  readonly urls: readonly string[]
  readonly pid: number
  behave(how: UpstreamBehavior): void
  report(): Promise<CallReport>
  /** Returns the actions since the last call. The first call begins the record. */
  record(): Promise<readonly UpstreamAction[]>
  close(): Promise<void>
}

export interface Replica {
  readonly url: string
  /** Of its port for the v4 contract; empty: it has none. */
  readonly v4Url: string
  readonly pid: number
  readonly operationsUrl: string
  memory(): Promise<MemoryUse>
  /** Sends SIGSTOP: connections stay open, but the replica does not respond. */
  pause(): void
  resume(): void
  /** Sends SIGKILL and starts a new replica on the same port. Resolves when it listens. */
  restart(): Promise<void>
  kill(): Promise<void>
  close(): Promise<void>
}

export interface ReplicaOptions {
  readonly upstream: string
  /** Absent: nothing is shared. */
  readonly redis?: string
  /** Default v3. With `v4`, the replica has a port for each contract. */
  readonly layout?: Layout
  /** A key of `planted`. */
  readonly fault?: string
  /** Limit of concurrent calls of each replica. */
  readonly inFlight?: number
  /** Timeout of a call to the upstream, such as `3s`. */
  readonly timeout?: string
  readonly cache?: Readonly<Record<string, unknown>>
  /** The folder of a build of the edge, such as that of an earlier release; absent: the modules of this tree. */
  readonly build?: string
}

/** The build of this tree. It starts in two thirds of the CPU time of the modules. */
export const BUILT = 'dist'

export const authorization = `Basic ${Buffer.from('admin:admin-pw').toString('base64')}`

/** Starts `nodes` nodes that share their registers, in one process. */
export async function startUpstream(how: UpstreamBehavior, nodes = 1, layout: Layout = 'v3'): Promise<Upstream> {
  const child = forkScript(new URL('upstream.ts', import.meta.url), [String(nodes), layout])
  const { ports } = await nextMessage<{ ports: readonly number[] }>(child)
  child.send(how)
  const urls = ports.map((port) => `http://127.0.0.1:${port}`)
  return {
    url: urls[0] ?? '',
    urls,
    pid: child.pid ?? 0,
    behave: (next) => void child.send(next),
    report: () => {
      const report = nextMessage<CallReport>(child)
      child.send('report')
      return report
    },
    record: async () => {
      const recorded = nextMessage<{ actions: readonly UpstreamAction[] }>(child)
      child.send('record')
      return (await recorded).actions
    },
    close: () => ended(child),
  }
}

export async function startReplica(options: ReplicaOptions): Promise<Replica> {
  const folder = await mkdtemp(join(tmpdir(), 'manager-edge-replica-'))
  const file = join(folder, 'edge.yaml')
  const [port, operationsPort] = [await freePort(), await freePort()]
  const v4Port = options.layout === 'v4' ? await freePort() : undefined
  // Cost 4 is the minimum of bcrypt: a test needs no protection against guessing.
  await writeFile(join(folder, 'users'), `admin:${await hash('admin-pw', 4)}\n`, { mode: 0o600 })
  await writeFile(file, stringify(settings({ port, v4Port, operationsPort }, options)))
  const run = async (): Promise<ChildProcess> => {
    if (options.build !== undefined) return startBuild(options.build, file, port)
    const next = forkScript(new URL('replica.ts', import.meta.url), [file, options.fault ?? ''])
    await new Promise<void>((resolve, reject) => {
      next.once('message', () => resolve())
      next.once('exit', (code) => reject(new Error(`a replica ended with ${code}`)))
    })
    return next
  }
  let child = await run()
  return {
    url: `http://127.0.0.1:${port}`,
    v4Url: v4Port === undefined ? '' : `http://127.0.0.1:${v4Port}`,
    get pid() {
      return child.pid ?? 0
    },
    operationsUrl: `http://127.0.0.1:${operationsPort}`,
    memory: () => {
      const memory = nextMessage<MemoryUse>(child)
      child.send(MEMORY_REQUEST)
      return memory
    },
    pause: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
    kill: () => ended(child),
    async restart() {
      await ended(child)
      child = await run()
    },
    async close() {
      await ended(child)
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Started from a build. Unlike a replica from the modules, they do not notice the end of this process. */
const children = new Set<ChildProcess>()
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL')
})

/** Starts the command of a build. Resolves when its port is open. It sends no messages: `memory` never resolves. */
async function startBuild(build: string, file: string, port: number): Promise<ChildProcess> {
  const command = [resolve(build, 'cli.js'), 'start', '--config', file]
  const child = spawn(process.execPath, command, { stdio: ['ignore', 'ignore', 'inherit'] })
  children.add(child)
  child.once('exit', () => children.delete(child))
  for (;;) {
    if (child.exitCode !== null) throw new Error(`${command.join(' ')} ended with ${child.exitCode}`)
    const socket = connect(port, '127.0.0.1')
    const isOpen = await once(socket, 'connect').then(
      () => true,
      () => false,
    )
    socket.destroy()
    if (isOpen) return child
    await sleep(50)
  }
}

interface Ports {
  readonly port: number
  readonly v4Port: number | undefined
  readonly operationsPort: number
}

function settings(
  { port, v4Port, operationsPort }: Ports,
  { upstream, redis, inFlight = 64, timeout = '20s', cache = {} }: ReplicaOptions,
): object {
  return {
    listen: { host: '127.0.0.1', port, ...(v4Port !== undefined && { secondPort: v4Port }) },
    operations: { host: '127.0.0.1', port: operationsPort, metrics: 'open' },
    cluster: {
      discover: false,
      ...(v4Port !== undefined && { layout: 'v4' }),
      nodes: [{ name: 'master', type: 'master', url: upstream }],
      credentials: { username: 'edge', password: 'only-for-tests' },
      limits: { inFlight, queue: 10_000, timeout, ...(v4Port !== undefined && { perMinute: 0 }) },
    },
    cache: { ...(redis !== undefined && { redis: { url: redis } }), ...cache },
    access: { users: 'users', roles: { admin: ['administrator'] }, limits: { requestsPerSecond: 1_000_000 } },
  }
}

function nextMessage<T>(child: ChildProcess): Promise<T> {
  return new Promise((resolve) => child.once('message', (message) => resolve(message as T)))
}

function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve()
  return new Promise((resolve) => {
    child.once('exit', () => resolve())
    child.kill('SIGKILL')
  })
}
