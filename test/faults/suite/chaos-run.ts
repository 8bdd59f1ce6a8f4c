/** One chaos run: replicas behind HAProxy under mixed load, faults one after the other, every response judged. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { freePort } from '../../../packages/simulator/src/free-port.ts'
import { createKeyFile } from '../../../src/access/signing-keys.ts'
import { eventually } from '../../support/eventually.ts'
import { startRedis } from '../../support/redis.ts'
import type { Operation, Violation } from '../coherence/history.ts'
import { type Link, type LinkEffect, sumEffects } from '../coherence/links.ts'
import { type Outcome, startLoad } from '../coherence/load.ts'
import { VALUE_PATH } from '../coherence/processes.ts'
import { createRandom } from '../coherence/random.ts'
import { createWriteLog } from '../coherence/write-log.ts'
import { startFaultProxy } from '../proxy.ts'
import { type ChaosStage, chaosFaults, NORMAL } from './chaos-faults.ts'
import type { PlannedFault } from './chaos-plan.ts'
import { violationsOf, wrongWritesOf } from './departures.ts'
import { BUILD, type EdgeProcess, type EdgeProcessOptions, headers, startEdgeProcess } from './edge-process.ts'
import { REPLICA_HEADER, startHaproxy } from './haproxy.ts'
import { startSteadyLoad } from './load.ts'
import { startNodeUpstream } from './upstream.ts'

export interface ChaosReport {
  readonly operations: number
  readonly writes: number
  readonly hits: number
  /** Marked `detail=outage`, and `detail=without-redis`. */
  readonly inOutage: number
  readonly withoutRedis: number
  readonly joinedReads: number
  readonly violations: readonly Violation[]
  /**
   * Requests that the edge rejected or left open as announced: 503 with `Retry-After`, 502 and 504 with its own code; and writes
   * to a replica that was killed, of which HAProxy closes the connection, because it must not send them to another one.
   */
  readonly sheds: number
  /** Writes that reached a node although they were refused, or twice: see `checkWrites`. */
  readonly wrongWrites: readonly string[]
  readonly linkEffects: readonly LinkEffect[]
  /** All other requests without a right response. */
  readonly failures: readonly string[]
  /** Right responses of all requests without the sheds, from 0 to 1. */
  readonly availability: number
}

export interface ChaosOptions {
  readonly plan: readonly PlannedFault[]
  readonly seed: number
  /** Called at the start of each fault with the seconds since the start of the run. */
  readonly onFault: (fault: PlannedFault, seconds: number) => void
  readonly replicas?: number
  /** `both`: each replica has a port for each contract in front of the v4 layout. There are no joined reads then. */
  readonly contracts?: 'v3' | 'both'
  /** The setting `cache.withoutRedis`. Default: `stale`. */
  readonly withoutRedis?: 'call' | 'stale'
  /** The folder of another build, with which the replicas start. Upgrades install this build and that one in turn. */
  readonly beside?: string | undefined
  /** Milliseconds between two operations of each of the callers. */
  readonly interval?: number
}

const CALLERS = 12
const JOINED_PER_SECOND = 4
/** The edge ends a call after this time, so a client gets a response before it gives up. */
const CALL_TIMEOUT = '3s'
const PATIENCE_MS = 60_000
/** Share of reads of what no caller writes. The first writes of an outage, before it is detected, invalidate all the others. */
const UNWRITTEN = 0.2
/** Right responses before the first fault. */
const RIGHT_BEFORE_FAULTS = 300

/** In either contract. */
const SUCCESS = /^\{"error":0|^\{"data":.*"error":0\}$/s

/** The documents state for each of these codes what the client may do. */
function isAnnounced(status: number, received: Outcome['headers'], text: string): boolean {
  const isOwnError = /"error":9[234]\d/.test(text)
  return (
    (status === 503 && received['retry-after'] !== undefined && isOwnError) ||
    ((status === 504 || status === 502) && isOwnError)
  )
}

export async function runChaos({
  plan,
  seed,
  onFault,
  replicas: count = 3,
  contracts = 'v3',
  withoutRedis = 'stale',
  beside = BUILD,
  interval = 20,
}: ChaosOptions): Promise<ChaosReport> {
  const parts: { close(): Promise<unknown> }[] = []
  const keep = <T extends { close(): Promise<unknown> }>(part: T): T => {
    parts.push(part)
    return part
  }
  try {
    const layout = contracts === 'both' ? 'v4' : 'v3'
    const upstream = keep(await startNodeUpstream(NORMAL, { workers: 2, layout }))
    const keys = keep(await createKeys())
    const redis = keep(await startRedis())
    const start = async (_: unknown, at: number): Promise<ChaosReplica> => {
      const proxyTo = async (port: number) => keep(await startFaultProxy(port))
      const toRedis = await proxyTo(redis.port)
      const toNodes = await Promise.all(upstream.nodes.map(({ proxy }) => proxyTo(proxy.port)))
      const nodes = upstream.nodes.map(({ name, type }, node) => {
        return { name, type, url: `http://127.0.0.1:${toNodes[node]?.port}` }
      })
      const v4Port = layout === 'v4' ? await freePort() : undefined
      const settings = {
        ...(v4Port !== undefined && {
          listen: { secondPort: v4Port },
          access: { tokens: { keys: keys.folder } },
        }),
        cluster: { layout, limits: { inFlight: 64, queue: 10_000, timeout: CALL_TIMEOUT, perMinute: 0 } },
        cache: {
          ttl: { agents: '10s' },
          outage: '8h',
          withoutRedis,
          redis: { url: `redis://127.0.0.1:${toRedis.port}` },
        },
      }
      const replica = keep(await startEdgeProcess({ nodes, settings, build: beside }))
      const link = { name: `replica ${at + 1} – Redis`, replica: replica.url, to: 'Redis', proxy: toRedis } as const
      const ofNodes = toNodes.map((proxy, node) => {
        return { name: `replica ${at + 1} – ${nodes[node]?.name}`, replica: replica.url, to: 'node', proxy } as const
      })
      return { replica, v4Port, nodes, links: [link, ...ofNodes] }
    }
    const replicas = await Promise.all(Array.from({ length: count }).map(start))
    const balancer = keep(
      await startHaproxy(
        replicas.map(({ replica }) => replica),
        { namesReplica: true },
      ),
    )
    const v4Ports = replicas.flatMap(({ replica: { operationsPort }, v4Port }) => {
      return v4Port === undefined ? [] : { port: v4Port, operationsPort }
    })
    const v4Balancer = v4Ports.length === 0 ? undefined : keep(await startHaproxy(v4Ports, { namesReplica: true }))
    const linkEffects: LinkEffect[] = []
    const builds = [BUILD, beside]
    let upgrades = 0
    const stage: ChaosStage = {
      upstream,
      redis,
      balancer,
      replicas: replicas.map(({ replica }) => replica),
      nodes: new Map(replicas.map(({ replica, nodes }) => [replica, nodes])),
      links: replicas.flatMap(({ links }) => links),
      onLinkFault: (effect) => linkEffects.push(effect),
      nextBuild: () => {
        upgrades += 1
        return builds[(upgrades - 1) % builds.length] ?? BUILD
      },
    }
    const load = { plan, seed, onFault, interval, v4Url: v4Balancer?.url }
    return { ...(await underLoad(stage, load)), linkEffects: sumEffects(linkEffects) }
  } finally {
    for (const part of parts.reverse()) await part.close()
  }
}

/** A folder with a signing key: a token is good at all replicas, also after a restart. */
async function createKeys(): Promise<{ readonly folder: string; close(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'manager-edge-keys-'))
  await createKeyFile(folder)
  return { folder, close: () => rm(folder, { recursive: true, force: true }) }
}

interface LoadOptions extends Required<Pick<ChaosOptions, 'plan' | 'seed' | 'onFault' | 'interval'>> {
  /** Of the balancer of the ports for the v4 contract. */
  readonly v4Url: string | undefined
}

interface ChaosReplica {
  readonly replica: EdgeProcess
  /** Of its port for the v4 contract. */
  readonly v4Port: number | undefined
  readonly nodes: EdgeProcessOptions['nodes']
  readonly links: readonly Link[]
}

async function underLoad(stage: ChaosStage, options: LoadOptions): Promise<Omit<ChaosReport, 'linkEffects'>> {
  const { plan, seed, onFault, interval, v4Url } = options
  const counted = { all: 0, right: 0, sheds: 0 }
  const failures: string[] = []
  let fault = ''
  const judge = (
    status: number,
    received: Outcome['headers'],
    text: string,
    method: Outcome['method'] = 'GET',
  ): string | undefined => {
    counted.all += 1
    if (status === 200 && SUCCESS.test(text)) {
      counted.right += 1
      return undefined
    }
    const isKilled = fault === 'replica killed' && method === 'PUT' && status === 0
    if (isKilled || isAnnounced(status, received, text)) counted.sheds += 1
    else failures.push(`${new Date().toISOString()} ${status} ${text.slice(0, 200)}`)
    return `${status}`
  }
  const writeLog = createWriteLog()
  let over = false
  const load = startLoad({
    replicas: [stage.balancer.url],
    replicaHeader: REPLICA_HEADER,
    ...(v4Url !== undefined && {
      v4: new Map([[stage.balancer.url, v4Url]]),
      writtenValue: async (path) =>
        Number(await (await fetch(`${stage.upstream.url}${VALUE_PATH}?path=${path}`)).text()),
    }),
    operations: Number.POSITIVE_INFINITY,
    callers: CALLERS,
    random: createRandom(~seed),
    patience: PATIENCE_MS,
    interval,
    unwritten: UNWRITTEN,
    onOutcome: (outcome) => {
      writeLog.add(outcome)
      judge(outcome.status, outcome.headers, outcome.text, outcome.method)
    },
    enough: () => over,
  })
  const joined = startSteadyLoad({
    rate: v4Url === undefined ? JOINED_PER_SECOND : 0,
    draw: () => ({
      origin: stage.balancer.url,
      path: '/cluster/*/stats',
      headers,
      verify: ({ status, headers: received, text }) => judge(status, received, text),
    }),
  })
  joined.phase('all')
  // On a busy machine, the first fault would find nothing stored.
  await eventually(() => counted.right >= RIGHT_BEFORE_FAULTS, PATIENCE_MS)
  const begin = performance.now()
  for (const planned of plan) {
    await wait(planned.pause)
    onFault(planned, (performance.now() - begin) / 1000)
    fault = planned.name
    await chaosFaults[fault]?.(stage, planned.ms, planned.target)
    fault = ''
  }
  await wait(1000)
  over = true
  const { history, operations, hits, inOutage, withoutRedis } = await load.finished
  const { all } = await joined.stop()
  const asked = counted.all - counted.sheds
  return {
    operations,
    writes: history.filter(({ kind }: Operation) => kind !== 'read').length,
    hits,
    inOutage,
    withoutRedis,
    joinedReads: all?.requests ?? 0,
    violations: violationsOf(history),
    wrongWrites: wrongWritesOf(writeLog, (await stage.upstream.report()).byPath),
    sheds: counted.sheds,
    failures,
    availability: asked === 0 ? 0 : (asked - failures.length) / asked,
  }
}
