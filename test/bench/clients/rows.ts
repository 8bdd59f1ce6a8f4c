/** Measures one row of the table: a number of clients, without the edge or through it. */
import { readFile } from 'node:fs/promises'
import { setTimeout as wait } from 'node:timers/promises'
import type { SimulatorOptions } from '../../../packages/simulator/src/index.ts'
import { type RedisServer, startRedis } from '../../support/redis.ts'
import { cpuOf } from '../load.ts'
import type { ClusterReport } from '../servers/cluster.ts'
import { ageBounds } from './bounds.ts'
import { collectFetchTimes, type FetchTimes } from './fetch-times.ts'
import { type OwnDelay, startSession } from './generator.ts'
import { basic, nodePassword, type Replicas, type RunningCluster, startCluster, startReplicas } from './parties.ts'
import type { Session } from './session.ts'
import type { Taken } from './taken.ts'

export interface RowOptions {
  readonly session: Session
  readonly way: 'direct' | 'edge'
  readonly clients: number
  readonly seconds: number
  /** Seconds before the measured time, in which the clients start one after the other. */
  readonly warmUp: number
  readonly cluster: SimulatorOptions
  /** The address of the server that answers at once. */
  readonly echo: string
  /** Seconds for which the groups `manager` and `cluster` are fresh. Absent: the default of the edge. */
  readonly ttl?: number
}

export interface NodeFigures {
  readonly name: string
  readonly callsPerSecond: number
  /** Most calls in flight at the same time since the start, over all replicas. */
  readonly most: number
  /** Most calls of 60 seconds since the start, and calls that the node refused because of its limit. */
  readonly minute: number
  readonly refused: number
}

export interface Row extends RowOptions {
  /** The measured time in seconds, as it was. */
  readonly spent: number
  readonly taken: Taken
  readonly warm: Taken
  readonly own: OwnDelay
  readonly nodes: readonly NodeFigures[]
  /** Calls to all nodes since the start by path, most first. */
  readonly calls: readonly (readonly [string, number])[]
  /** Processor time of each kind of process in the measured time, as a part of one core. */
  readonly cpu: Readonly<Record<'generator' | 'replicas' | 'cluster' | 'redis' | 'machine', number>>
  readonly ages: readonly AgeFigures[]
}

/** Ages of the answers to one GET in seconds. `bound`: 0 if no answer was stored. */
export interface AgeFigures {
  readonly target: string
  readonly group: string
  /** The longest fetch of the run. */
  readonly fetchSeconds: number
  readonly oldest: number
  readonly bound: number
}

interface Edge {
  readonly replicas: Replicas
  readonly redis: RedisServer
}

/** Starts all processes for this row only, so that no row begins with the responses of another. */
export async function measure(options: RowOptions): Promise<Row> {
  const { users } = options.session
  const v4 = users && { v4: { ...options.cluster.v4, users } }
  const cluster = await startCluster({ ...options.cluster, ...v4 })
  const edge = options.way === 'edge' ? await startEdge(cluster, options) : undefined
  try {
    return await measureOn(options, cluster, edge)
  } finally {
    await edge?.replicas.close()
    await edge?.redis.close()
    cluster.close()
  }
}

async function startEdge(
  { nodes }: RunningCluster,
  { cluster, ttl, session: { contract } }: RowOptions,
): Promise<Edge> {
  const redis = await startRedis()
  const { layout = 'v3' } = cluster
  const cache = ttl === undefined ? {} : { ttl: { manager: `${ttl}s`, cluster: `${ttl}s` } }
  return { redis, replicas: await startReplicas(2, { nodes, layout, contract, redis: redis.url, cache }) }
}

async function measureOn(options: RowOptions, cluster: RunningCluster, edge: Edge | undefined): Promise<Row> {
  const master = cluster.nodes.filter(({ type }) => type === 'master').map(({ url }) => url)
  const { clients, seconds, warmUp, echo } = options
  const credentials = credentialsOf(options.session, edge)
  const session = startSession(
    {
      session: options.session,
      urls: edge?.replicas.urls ?? master,
      clients,
      credentials,
      throughEdge: edge !== undefined,
      echo,
    },
    // The clients have all started before the measured time, and the first fetches are complete.
    (1000 * warmUp) / 2,
  )
  const url = edge?.replicas.urls[0] ?? ''
  // The users of each role see the same fetches.
  const operators = async () =>
    options.session.users ? logInAll(url, credentials.slice(0, MAX_OPERATORS)) : [basic('writer')]
  const endCollection = edge && collectFetchTimes({ url, contract: options.session.contract }, operators)
  await wait(1000 * warmUp)
  const { taken: warm } = session.nextPhase()
  const before = await cluster.report()
  const cpuBefore = await cpuTimes(cluster, edge)
  const start = performance.now()
  await wait(1000 * seconds)
  const { taken, own } = session.nextPhase()
  const spent = (performance.now() - start) / 1000
  const cpuAfter = await cpuTimes(cluster, edge)
  const after = await cluster.report()
  const share = (name: keyof Row['cpu']) => (cpuAfter[name] - cpuBefore[name]) / 1e6 / spent
  await session.stop()
  const fetchTimes = await endCollection?.()
  const minutes = await cluster.minutes()
  const calls = await cluster.calls()
  return {
    ...options,
    spent,
    taken,
    warm,
    own,
    calls: [...calls].sort(([, one], [, other]) => other - one),
    nodes: nodeFigures(before, after, spent).map((node) => ({
      ...node,
      minute: minutes[node.name]?.most ?? 0,
      refused: minutes[node.name]?.refused ?? 0,
    })),
    cpu: {
      generator: share('generator'),
      replicas: share('replicas'),
      cluster: share('cluster'),
      redis: share('redis'),
      machine: share('machine'),
    },
    ages:
      edge === undefined || fetchTimes === undefined
        ? []
        : ageFigures(options.session, taken, edge.replicas, fetchTimes),
  }
}

/** Returns the header of each user of the v4 contract. */
async function logInAll(url: string, credentials: readonly string[]): Promise<string[]> {
  const headers: string[] = []
  for (const authorization of credentials) {
    const options = { method: 'POST', headers: { authorization } }
    const response = await fetch(`${url}/security/user/authenticate?raw=true`, options)
    headers.push(`Bearer ${await response.text()}`)
  }
  return headers
}

const MAX_OPERATORS = 5

function credentialsOf({ users }: Session, edge: Edge | undefined): readonly string[] {
  if (users) return Object.entries(users).map(([name, { password }]) => basic(name, password))
  return [edge === undefined ? basic('edge', nodePassword) : basic('browser')]
}

function nodeFigures(
  before: ClusterReport,
  after: ClusterReport,
  spent: number,
): Pick<NodeFigures, 'name' | 'most' | 'callsPerSecond'>[] {
  return Object.entries(after).map(([name, { served, most }]) => {
    return { name, most, callsPerSecond: (served - (before[name]?.served ?? 0)) / spent }
  })
}

/** The fetch time is the longest of the endpoint in the whole run, because each answer has the age of another fetch. */
function ageFigures(session: Session, { gets }: Taken, replicas: Replicas, fetchTimes: FetchTimes): AgeFigures[] {
  const bounds = ageBounds(session, replicas.config)
  const figures = bounds.map(({ group, seconds, secondsOfRefusal }, get) => {
    const { target = '', path = '' } = session.gets[get] ?? {}
    const fetchMs = fetchTimes.get(path)
    const boundBy = (by: typeof seconds) => (fetchMs === undefined ? 0 : by(fetchMs))
    const { oldest = 0, oldestRefusal = 0 } = gets[get] ?? {}
    const common = { group, fetchSeconds: (fetchMs ?? 0) / 1000 }
    const answer = { ...common, target, oldest, bound: boundBy(seconds) }
    const refusal = { ...common, target: `${target} refused`, oldest: oldestRefusal, bound: boundBy(secondsOfRefusal) }
    return { answer, refusal }
  })
  const refusals = figures.map(({ refusal }) => refusal).filter(({ oldest }) => oldest > 0)
  // The report finds the answers by the place of their GET.
  return [...figures.map(({ answer }) => answer), ...refusals]
}

/** Microseconds of processor time since the start. */
async function cpuTimes(cluster: RunningCluster, edge: Edge | undefined): Promise<Row['cpu']> {
  const { user, system } = process.cpuUsage()
  const replicas = await Promise.all((edge?.replicas.pids ?? []).map(cpuOf))
  return {
    generator: user + system,
    replicas: replicas.reduce((sum, one) => sum + one, 0),
    cluster: await cpuOf(cluster.pid),
    redis: edge === undefined ? 0 : await cpuOf(edge.redis.pid),
    machine: await machineTime(),
  }
}

/** USER_HZ of Linux. */
const TICK_US = 10_000

/** Returns the busy time of all processors since the start of the machine, in microseconds; 0 without /proc. */
async function machineTime(): Promise<number> {
  const [line = ''] = (await readFile('/proc/stat', 'utf8').catch(() => '')).split('\n', 1)
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0] = line.split(/\s+/).slice(1).map(Number)
  return (user + nice + system + irq + softirq) * TICK_US
}
