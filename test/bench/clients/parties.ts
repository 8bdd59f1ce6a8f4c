/**
 * The processes of the benchmark: a cluster with the capacity of a real one, replicas of the edge with one Redis, and a
 * server that answers at once.
 */
import type { ChildProcess } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hash } from '@node-rs/bcrypt'
import { stringify } from 'yaml'
import { freePort } from '../../../packages/simulator/src/free-port.ts'
import type { Fault, Layout } from '../../../packages/simulator/src/index.ts'
import { loadConfig } from '../../../src/config/index.ts'
import type { Config } from '../../../src/config/schema.ts'
import type { Contract } from '../../../src/contracts/endpoint.ts'
import { forkScript } from '../../support/typescript/script.ts'
import type {
  CallsByPath,
  ClusterOptions,
  ClusterReady,
  ClusterReport,
  FaultOrder,
  MinuteReport,
} from '../servers/cluster.ts'

export interface RunningCluster {
  readonly nodes: ClusterReady['nodes']
  readonly pid: number
  report(): Promise<ClusterReport>
  /** Most calls of 60 seconds at each node since the start. */
  minutes(): Promise<MinuteReport>
  /** Calls since the start by path, without those between nodes. */
  calls(): Promise<ReadonlyMap<string, number>>
  /** Sets a fault of all nodes; `{}`: none. Resolves when it is active. */
  strike(fault: Fault): Promise<void>
  close(): void
}

export interface Replicas {
  readonly urls: readonly string[]
  readonly pids: readonly number[]
  /** The configuration of the first replica. */
  readonly config: Config
  /** Asks each replica in turn: `MEMORY_REQUEST` or `TURNS_REQUEST`. */
  ask<T>(request: string): Promise<readonly T[]>
  close(): Promise<void>
}

export interface ReplicaOptions {
  readonly nodes: RunningCluster['nodes']
  readonly redis: string
  /** Default: v3. */
  readonly layout?: Layout
  /** Of `urls`; default v3. Clients of the v4 contract are users of the manager. */
  readonly contract?: Contract
  /** Settings of the cache besides Redis; default none. */
  readonly cache?: object
  /** Settings of the cluster besides its nodes; default none. */
  readonly cluster?: object
}

export const nodePassword = 'only-for-tests'
export const basic = (user: string, password = `${user}-pw`): string =>
  `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`

export async function startCluster(options: ClusterOptions): Promise<RunningCluster> {
  const child = forkScript(new URL('../servers/cluster.ts', import.meta.url), [
    JSON.stringify({ ...options, password: nodePassword }),
  ])
  const { nodes } = await nextMessage<ClusterReady>(child)
  return {
    nodes,
    pid: child.pid ?? 0,
    report: () => {
      const report = nextMessage<ClusterReport>(child)
      child.send('report')
      return report
    },
    minutes: () => {
      const minutes = nextMessage<MinuteReport>(child)
      child.send('minutes')
      return minutes
    },
    calls: async () => {
      const calls = nextMessage<CallsByPath>(child)
      child.send('calls')
      return new Map(Object.entries(await calls))
    },
    strike: async (fault) => {
      const done = nextMessage(child)
      child.send({ fault } satisfies FaultOrder)
      await done
    },
    close: () => void child.kill('SIGKILL'),
  }
}

/** Starts the server that answers each request at once. */
export async function startEcho(): Promise<{ readonly url: string; close(): void }> {
  const child = forkScript(new URL('../servers/echo.ts', import.meta.url), [])
  const { port } = await nextMessage<{ readonly port: number }>(child)
  return { url: `http://127.0.0.1:${port}`, close: () => void child.kill('SIGKILL') }
}

export async function startReplicas(count: number, options: ReplicaOptions): Promise<Replicas> {
  const folder = await mkdtemp(join(tmpdir(), 'manager-edge-clients-'))
  const users = ['browser', 'writer']
  const lines = await Promise.all(users.map(async (user) => `${user}:${await hash(`${user}-pw`, 10)}`))
  await writeFile(join(folder, 'users'), `${lines.join('\n')}\n`, { mode: 0o600 })
  const children: ChildProcess[] = []
  const urls: string[] = []
  const files: string[] = []
  for (let i = 0; i < count; i += 1) {
    const port = await freePort()
    const file = join(folder, `edge-${i}.yaml`)
    await writeFile(file, stringify(settingsOf(port, options)))
    const child = forkScript(new URL('../../faults/coherence/replica.ts', import.meta.url), [file, ''])
    await nextMessage(child)
    children.push(child)
    files.push(file)
    urls.push(`http://127.0.0.1:${port}`)
  }
  const loaded = await loadConfig({ file: files[0], env: {} })
  if (!loaded.ok) throw new Error(loaded.faults.join('\n'))
  return {
    urls,
    pids: children.map(({ pid }) => pid ?? 0),
    config: loaded.config,
    ask: async <T>(request: string) => {
      const answers: T[] = []
      for (const child of children) {
        const answer = nextMessage<T>(child)
        child.send(request)
        answers.push(await answer)
      }
      return answers
    },
    close: async () => {
      for (const child of children) child.kill('SIGKILL')
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** The default settings, besides those without which an edge cannot run. */
function settingsOf(port: number, options: ReplicaOptions): object {
  const { nodes, redis, layout = 'v3', contract = 'v3', cache, cluster } = options
  const listen = { host: '127.0.0.1', port, contract }
  const ofManager = contract === 'v4'
  const credentials = ofManager ? { mode: 'passthrough' } : { username: 'edge', password: nodePassword }
  // A user interface of releases 3.x sends the requests of all its users as one caller.
  const users = { users: 'users', roles: { browser: ['reader'], writer: ['administrator'] } }
  return {
    listen,
    operations: { host: '127.0.0.1', port: 0 },
    cluster: { nodes, layout, credentials, ...cluster },
    // A delay of this machine is no failure of Redis.
    cache: { redis: { url: redis, timeout: '1s' }, ...cache },
    access: ofManager ? { passthroughRole: 'administrator' } : users,
  }
}

function nextMessage<T>(child: ChildProcess): Promise<T> {
  return new Promise((resolve, reject) => {
    const fail = (code: number | null) => reject(new Error(`a process of the bench ended with ${code}`))
    child.once('exit', fail)
    child.once('message', (message) => {
      child.off('exit', fail)
      resolve(message as T)
    })
  })
}
