/**
 * The processes of the benchmark: a cluster with the capacity of a real one, and replicas of the edge with one Redis.
 */
import type { ChildProcess } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hash } from '@node-rs/bcrypt'
import { stringify } from 'yaml'
import { freePort } from '../../support/redis.ts'
import { forkScript } from '../../support/typescript/script.ts'
import type { ClusterReady, ClusterReport } from '../servers/cluster.ts'

export interface RunningCluster {
  readonly nodes: ClusterReady['nodes']
  readonly pid: number
  report(): Promise<ClusterReport>
  close(): void
}

export interface Replicas {
  readonly urls: readonly string[]
  readonly pids: readonly number[]
  close(): Promise<void>
}

export interface ReplicaOptions {
  readonly nodes: RunningCluster['nodes']
  readonly redis: string
  /** The limit of each replica; a node receives the calls of all replicas. */
  readonly inFlight: number
  /** Seconds of stale-while-revalidate; 0: the default settings. */
  readonly stale: number
}

export const nodePassword = 'only-for-tests'
export const basic = (user: string, password = `${user}-pw`): string =>
  `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`

export async function startCluster(options: object): Promise<RunningCluster> {
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
    close: () => void child.kill('SIGKILL'),
  }
}

export async function startReplicas(count: number, options: ReplicaOptions): Promise<Replicas> {
  const folder = await mkdtemp(join(tmpdir(), 'manager-edge-clients-'))
  const users = ['browser', 'writer']
  const lines = await Promise.all(users.map(async (user) => `${user}:${await hash(`${user}-pw`, 10)}`))
  await writeFile(join(folder, 'users'), `${lines.join('\n')}\n`, { mode: 0o600 })
  const children: ChildProcess[] = []
  const urls: string[] = []
  for (let i = 0; i < count; i += 1) {
    const port = await freePort()
    const file = join(folder, `edge-${i}.yaml`)
    await writeFile(file, stringify(settings(port, options)))
    const child = forkScript(new URL('../../faults/coherence/replica.ts', import.meta.url), [file, ''])
    await nextMessage(child)
    children.push(child)
    urls.push(`http://127.0.0.1:${port}`)
  }
  return {
    urls,
    pids: children.map(({ pid }) => pid ?? 0),
    close: async () => {
      for (const child of children) child.kill('SIGKILL')
      await rm(folder, { recursive: true, force: true })
    },
  }
}

function settings(port: number, { nodes, redis, inFlight, stale }: ReplicaOptions): object {
  const groups = ['agents', 'summary', 'manager', 'cluster', 'rules']
  return {
    listen: { host: '127.0.0.1', port },
    operations: { host: '127.0.0.1', port: 0 },
    cluster: { nodes, credentials: { username: 'edge', password: nodePassword }, limits: { inFlight } },
    cache: {
      redis: { url: redis },
      ...(stale > 0 && { staleWhileRevalidate: Object.fromEntries(groups.map((name) => [name, `${stale}s`])) }),
    },
    // A user interface sends the requests of all its users as one caller.
    access: {
      users: 'users',
      roles: { browser: ['reader'], writer: ['administrator'] },
      limits: { requestsPerSecond: 1_000_000 },
    },
  }
}

function nextMessage<T>(child: ChildProcess): Promise<T> {
  return new Promise((resolve, reject) => {
    child.once('message', (message) => resolve(message as T))
    child.once('exit', (code) => reject(new Error(`a process of the bench ended with ${code}`)))
  })
}
