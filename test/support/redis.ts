/**
 * Starts Redis servers, clusters and sentinels for tests: each on a free port of 127.0.0.1 (or a Unix socket), without
 * persistence. They end with the process that started them.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { freePort } from '../../packages/simulator/src/free-port.ts'
import { installed } from './installed.ts'

export interface RedisOptions {
  /** Further settings as arguments, such as `['--maxmemory', '10mb']`. */
  readonly args?: readonly string[]
  /** Listens on a unix socket instead of a port. */
  readonly socket?: boolean
  readonly port?: number
}

export interface RedisServer {
  readonly url: string
  readonly port: number
  /** Path of the unix socket, if `socket` was set. */
  readonly path?: string
  readonly pid: number
  /** Sends SIGSTOP: connections stay open, but Redis does not respond. */
  pause(): void
  resume(): void
  /** Sends SIGKILL. Resolves when the process has ended. */
  kill(): Promise<void>
  /** Kills the server if it runs, and starts it on the same port or socket without data. */
  restart(): Promise<void>
  /** Opens a connection. `close` of the server closes it. */
  client(): Redis
  close(): Promise<void>
}

const children = new Set<ChildProcess>()
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL')
})

let serverPath: string | undefined

/** Returns the path of redis-server. */
export function redisBinary(): string {
  serverPath ??= installed({ variable: 'REDIS_SERVER', names: ['redis-server'], package: 'redis-server' })
  return serverPath
}

function run(args: readonly string[], ready: RegExp): Promise<ChildProcess> {
  const child = spawn(redisBinary(), args, { stdio: ['ignore', 'pipe', 'pipe'] })
  children.add(child)
  child.once('exit', () => children.delete(child))
  return new Promise((resolve, reject) => {
    let output = ''
    const collect = (chunk: Buffer) => {
      if (output.length < 64_000) output += chunk.toString()
      if (ready.test(output)) resolve(child)
    }
    child.stdout?.on('data', collect)
    child.stderr?.on('data', collect)
    child.once('error', reject)
    child.once('exit', (code) => reject(new Error(`redis-server ended with ${code}: ${output.slice(-2000)}`)))
  })
}

function killed(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve()
  return new Promise((resolve) => {
    child.once('exit', () => resolve())
    child.kill('SIGKILL')
  })
}

/** Starts a single server. */
export async function startRedis(options: RedisOptions = {}): Promise<RedisServer> {
  const folder = mkdtempSync(join(tmpdir(), 'edge-redis-'))
  const port = options.socket ? 0 : (options.port ?? (await freePort()))
  const path = options.socket ? join(folder, 'redis.sock') : undefined
  const place = ['--port', `${port}`, '--bind', '127.0.0.1', ...(path === undefined ? [] : ['--unixsocket', path])]
  const quiet = ['--save', '', '--appendonly', 'no', '--dir', folder, '--repl-diskless-sync-delay', '0']
  const args = [...place, ...quiet, ...(options.args ?? [])]
  const start = () => run(args, /Ready to accept connections|ready to accept connections/)
  const clients: Redis[] = []
  let child = await start()
  return {
    url: path === undefined ? `redis://127.0.0.1:${port}` : `unix://${path}`,
    port,
    ...(path === undefined ? {} : { path }),
    get pid() {
      return child.pid ?? 0
    },
    pause: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
    kill: () => killed(child),
    async restart() {
      await killed(child)
      child = await start()
    },
    client() {
      const client = path === undefined ? new Redis({ port, host: '127.0.0.1' }) : new Redis({ path })
      client.on('error', () => {})
      clients.push(client)
      return client
    },
    async close() {
      for (const client of clients) client.disconnect()
      await killed(child)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

export interface RedisCluster {
  readonly nodes: readonly RedisServer[]
  /** Moves one slot with its keys to the node with this index. */
  moveSlot(slot: number, to: number): Promise<void>
  close(): Promise<void>
}

/** Starts a cluster of `masters` masters without replicas that serves all slots. */
export async function startCluster(masters = 3, options: RedisOptions = {}): Promise<RedisCluster> {
  const nodes: RedisServer[] = []
  for (let at = 0; at < masters; at += 1) {
    const bus = await freePort()
    const cluster = ['--cluster-enabled', 'yes', '--cluster-port', `${bus}`, '--cluster-node-timeout', '2000']
    nodes.push(await startRedis({ args: [...cluster, ...(options.args ?? [])] }))
    await assignSlots(nodes, nodes.length - 1, masters, bus)
  }
  const clients = nodes.map((node) => node.client())
  await waitUntil(async () => {
    const infos = await Promise.all(clients.map((client) => client.call('CLUSTER', 'INFO')))
    const whole = new RegExp(`cluster_state:ok[\\s\\S]*cluster_known_nodes:${masters}\\b`)
    return infos.every((info) => whole.test(String(info)))
  })
  return {
    nodes,
    moveSlot: (slot, to) => moveSlot(clients, nodes, slot, to),
    close: async () => void (await Promise.all(nodes.map((node) => node.close()))),
  }
}

/** Assigns its slots to a new node, and introduces it to the first node. */
async function assignSlots(nodes: readonly RedisServer[], at: number, masters: number, bus: number): Promise<void> {
  const node = nodes[at]
  const first = nodes[0]
  if (node === undefined || first === undefined) return
  const each = 16_384 / masters
  const slots = [`${Math.ceil(each * at)}`, `${Math.ceil(each * (at + 1)) - 1}`]
  await node.client().call('CLUSTER', 'ADDSLOTSRANGE', ...slots)
  if (at > 0) await first.client().call('CLUSTER', 'MEET', '127.0.0.1', `${node.port}`, `${bus}`)
}

async function moveSlot(clients: readonly Redis[], nodes: readonly RedisServer[], slot: number, to: number) {
  const ids = await Promise.all(clients.map(async (client) => String(await client.call('CLUSTER', 'MYID'))))
  const owners = (await clients[0]?.call('CLUSTER', 'SLOTS')) as [number, number, [string, number, string]][]
  const owner = owners.find(([from, until]) => from <= slot && slot <= until)?.[2][2] ?? ''
  const source = clients[ids.indexOf(owner)]
  const target = clients[to]
  const targetId = ids[to]
  if (source === undefined || target === undefined || targetId === undefined || owner === targetId) return
  await target.call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', owner)
  await source.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', targetId)
  const keys = (await source.call('CLUSTER', 'GETKEYSINSLOT', slot, 10_000)) as string[]
  for (const key of keys) await source.call('MIGRATE', '127.0.0.1', nodes[to]?.port ?? 0, key, 0, 5000)
  for (const client of [target, source, ...clients]) await client.call('CLUSTER', 'SETSLOT', slot, 'NODE', targetId)
}

export interface RedisSentinels {
  readonly name: string
  readonly primary: RedisServer
  readonly replica: RedisServer
  readonly sentinels: readonly { readonly host: string; readonly port: number }[]
  /** Resolves when the sentinels name another primary than the first. */
  failedOver(): Promise<void>
  close(): Promise<void>
}

/** Starts a primary with one replica and `count` sentinels, which start a failover after `downAfter` milliseconds. */
export async function startSentinels({ count = 3, downAfter = 500 } = {}): Promise<RedisSentinels> {
  const name = 'edge'
  const primary = await startRedis()
  const replica = await startRedis({ args: ['--replicaof', '127.0.0.1', `${primary.port}`] })
  const watcher = replica.client()
  await waitUntil(async () => /master_link_status:up/.test(await watcher.info('replication')))
  const folder = mkdtempSync(join(tmpdir(), 'edge-sentinel-'))
  const quorum = Math.floor(count / 2) + 1
  const ports: number[] = []
  const children: ChildProcess[] = []
  for (let at = 0; at < count; at += 1) {
    const port = await freePort()
    const file = join(folder, `${port}.conf`)
    const watch = `sentinel monitor ${name} 127.0.0.1 ${primary.port} ${quorum}`
    const times = `sentinel down-after-milliseconds ${name} ${downAfter}\nsentinel failover-timeout ${name} 3000`
    writeFileSync(file, `port ${port}\nbind 127.0.0.1\ndir ${folder}\n${watch}\n${times}\n`)
    ports.push(port)
    children.push(await run([file, '--sentinel'], /\+monitor/))
  }
  const sentinel = new Redis({ port: ports[0] ?? 0, host: '127.0.0.1' })
  sentinel.on('error', () => {})
  const others = new RegExp(`num-other-sentinels,${count - 1}\\b[\\s\\S]*`)
  await waitUntil(async () => {
    const master = (await sentinel.call('SENTINEL', 'MASTER', name)) as string[]
    return others.test(master.join()) && master[master.indexOf('num-slaves') + 1] === '1'
  })
  return {
    name,
    primary,
    replica,
    sentinels: ports.map((port) => ({ host: '127.0.0.1', port })),
    failedOver: () =>
      waitUntil(async () => {
        const address = (await sentinel.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', name)) as string[]
        return address[1] !== `${primary.port}`
      }),
    async close() {
      sentinel.disconnect()
      await Promise.all([...children.map(killed), primary.close(), replica.close()])
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Polls until the condition holds; rejects after 20 seconds. */
async function waitUntil(condition: () => Promise<boolean>): Promise<void> {
  const begin = performance.now()
  while (performance.now() - begin < 20_000) {
    if (await condition().catch(() => false)) return
    await new Promise((resolve) => setTimeout(resolve, 30))
  }
  throw new Error('Redis did not reach the state that the test waits for')
}
