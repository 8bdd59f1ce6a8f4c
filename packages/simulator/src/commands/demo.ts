/** `manager-edge demo`: runs the edge in front of a simulated cluster in this process, on 127.0.0.1 only. */
import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { createKeyFile } from '../../../../src/access/signing-keys.ts'
import { putUser } from '../../../../src/access/users-file.ts'
import { CommandError, print } from '../../../../src/cli/terminal.ts'
import { loadConfig } from '../../../../src/config/index.ts'
import type { Config } from '../../../../src/config/schema.ts'
import { EXIT_CODES } from '../../../../src/server/exit.ts'
import { run, type Urls } from '../../../../src/server.ts'
import type { Simulator } from '../index.ts'
import { portsOfReplicas, startRedis, startReplica } from './demo-replicas.ts'
import { type ClusterOptions, nodeSettings, startCluster } from './simulate.ts'

export interface DemoOptions extends ClusterOptions {
  /** Port of the API of the first replica; 0: a free one. */
  readonly port: number
  readonly operationsPort: number
  /** Port for clients of releases 4.x, with the v4 layout. */
  readonly v4Port: number
  readonly replicas: number
  /** Share the cache through the Redis server that is installed. */
  readonly redis?: true
  readonly userPassword?: string
}

/** User name → role. */
const USERS = { admin: 'administrator', operator: 'operator', reader: 'reader' } as const
/** The folder of the signing keys. All replicas accept the tokens of each other. */
const KEYS = 'keys'

export async function demo(options: DemoOptions): Promise<number> {
  if (options.replicas > 1 && !options.redis) {
    throw new CommandError('replicas share the cache through Redis; add --redis', EXIT_CODES.configuration)
  }
  const account = { username: 'edge', password: randomPassword() }
  const folder = await mkdtemp(join(tmpdir(), 'manager-edge-demo-'))
  /** What was started, in the order of the starts. */
  const started: { stop(): Promise<void> }[] = [{ stop: () => rm(folder, { recursive: true, force: true }) }]
  try {
    const cluster = await startCluster(options, account)
    started.push({ stop: () => cluster.close() })
    const redis = options.redis && (await startRedis(folder))
    if (redis) started.push(redis)
    await mkdir(join(folder, KEYS))
    await createKeyFile(join(folder, KEYS))
    const passwords = await addUsers(join(folder, 'users'), options.userPassword)
    const { port, operationsPort, v4Port, layout } = options
    const first = [port, operationsPort, ...(layout === 'v4' ? [v4Port] : [])]
    const ports = portsOfReplicas(first, options.replicas)
    const site = { folder, cluster, account, redis: redis?.value, layout, ports }
    const urls: Urls[] = []
    for (let replica = 2; replica <= options.replicas; replica++) {
      const other = await startReplica(`replica-${replica}`, await writeSettings(replica, site))
      started.push(other)
      urls.push(other.value)
    }
    const config = await loadSettings(await writeSettings(1, site))
    return await run(config, { onListening: (own) => print(formatWelcome([own, ...urls], passwords, options)) })
  } finally {
    for (const each of started.reverse()) await each.stop()
  }
}

async function addUsers(file: string, password: string | undefined): Promise<Map<string, string>> {
  const passwords = new Map(Object.keys(USERS).map((user) => [user, password ?? randomPassword()]))
  for (const [user, each] of passwords) await putUser(file, user, each)
  return passwords
}

interface Site {
  readonly folder: string
  readonly cluster: Simulator
  readonly account: { readonly username: string; readonly password: string }
  readonly redis: string | undefined
  readonly layout: DemoOptions['layout']
  /** Of each replica: for the API, for operators and for clients of releases 4.x. */
  readonly ports: readonly (readonly number[])[]
}

/** Writes a real configuration file, so that the demo starts as an edge does. Returns its path. */
async function writeSettings(replica: number, site: Site): Promise<string> {
  const { folder, cluster, account, redis, layout } = site
  const [port, operationsPort, secondPort] = site.ports[replica - 1] ?? []
  const file = join(folder, `edge-${replica}.yaml`)
  const host = '127.0.0.1'
  const nodes = nodeSettings(cluster)
  const settings = {
    replica: { name: `replica-${replica}` },
    // There is no balancer that must notice the drain.
    listen: {
      host,
      port,
      ...(secondPort !== undefined && { secondPort }),
      drain: { delay: '0s' },
    },
    operations: { host, port: operationsPort },
    cluster: { layout, nodes, credentials: account },
    ...(redis !== undefined && { cache: { redis: { url: redis } } }),
    access: {
      users: 'users',
      tokens: { keys: KEYS },
      roles: Object.fromEntries(Object.entries(USERS).map(([user, role]) => [user, [role]])),
    },
    // The demo reads the lines of the other replicas.
    log: { format: replica === 1 ? 'text' : 'json' },
  }
  await writeFile(file, stringify(settings), { mode: 0o600 })
  return file
}

/** Ignores the environment. */
async function loadSettings(file: string): Promise<Config> {
  const loaded = await loadConfig({ file, env: {} })
  if (!loaded.ok) throw new CommandError(loaded.faults.join('\n'))
  return loaded.config
}

function formatWelcome(
  [own, ...others]: readonly Urls[],
  passwords: ReadonlyMap<string, string>,
  { workers, agents, layout }: DemoOptions,
): string {
  if (own === undefined) return ''
  const { url, operationsUrl } = own
  const admin = `-u admin:${passwords.get('admin')}`
  const users = Object.entries(USERS).map(([user, role]) => `  ${user.padEnd(9)} ${passwords.get(user)}   (${role})`)
  const replicas = others.map((other) => `Another replica listens on ${formatPorts(other)}\n`)
  return `
Manager Edge listens on ${formatPorts(own)}
${replicas.join('')}in front of a simulated cluster in the ${layout} layout: one master, ${workers} workers, ${agents} agents.

Users and their passwords:
${users.join('\n')}

Try it:
  curl ${admin} '${url}/agents?limit=3&pretty'
  curl ${operationsUrl}/readyz
  ${operationsUrl}/console/   in a browser, as admin or operator
${formatV4Calls(admin, own)}${others.map((other) => formatCoherence(admin, own, other)).join('')}
Press Ctrl-C to stop.
`
}

function formatPorts({ url, secondUrl, operationsUrl }: Urls): string {
  const second = secondUrl === undefined ? '' : `, for clients of releases 4.x on ${secondUrl}`
  return `${url}, operations on ${operationsUrl}${second}`
}

const BEARER = '-H "Authorization: Bearer $TOKEN"'

/** Calls of a client of releases 4.x. The last one reads the data of the first call of a v3 client. */
function formatV4Calls(admin: string, { url, secondUrl }: Urls): string {
  if (secondUrl === undefined) return ''
  return `
The same as a client of releases 4.x, with a token and the other contract:
  TOKEN=$(curl -s ${admin} -X POST '${secondUrl}/security/user/authenticate?raw=true')
  curl ${BEARER} '${secondUrl}/agents?limit=3&select=id,name,status&pretty=true'
  curl ${BEARER} '${secondUrl}/cache?select=url,hits,timeLeft&pretty=true'

A write of one contract, and the next read of the other one:
  curl ${BEARER} -X PUT '${secondUrl}/agents/001/group/dmz' && curl ${admin} '${url}/agents/001?select=id,group'
`
}

/**
 * Two calls that show that a write through one replica is visible through the other at once. All replicas accept the token of
 * the calls before.
 */
function formatCoherence(admin: string, { url }: Urls, other: Urls): string {
  const write =
    other.secondUrl === undefined
      ? `curl ${admin} -X PUT ${other.url}/agents/001/group/dmz`
      : `curl ${BEARER} -X DELETE '${other.secondUrl}/agents/001/group/dmz'`
  return `
See the shared cache: this replica stores a response, the other one changes the data, and the next read has the change.
  curl ${admin} '${url}/agents/001?select=id,group'
  ${write} && curl ${admin} '${url}/agents/001?select=id,group'
`
}

function randomPassword(): string {
  return randomBytes(9).toString('base64url')
}
