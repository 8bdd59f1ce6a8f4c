/** One run of the checker: replicas, a real Redis, an upstream, a load, faults, and the violations. */
import { type RedisServer, startRedis } from '../../support/redis.ts'
import { type Recording, startRecording } from '../protocol/record.ts'
import { type FaultProxy, startFaultProxy } from '../proxy.ts'
import { violationsOf, wrongWritesOf } from '../suite/departures.ts'
import { type Chaos, startChaos } from './chaos.ts'
import type { FaultLoop } from './fault-loop.ts'
import type { Operation, Violation } from './history.ts'
import { describeEffects, ineffective, type Link, type LinkChaos, type LinkEffect, startLinkFaults } from './links.ts'
import { type Counted, type Load, type Outcome, startLoad } from './load.ts'
import { type Replica, type ReplicaOptions, startReplica, startUpstream, VALUE_PATH } from './processes.ts'
import { createRandom } from './random.ts'
import { createWriteLog } from './write-log.ts'

export interface RunOptions {
  readonly operations: number
  readonly seed: number
  /** Seconds after which no operation begins. */
  readonly seconds?: number
  /** After its number of operations, the run goes on until this holds, at most for `seconds`. */
  readonly until?: (counted: Counted) => boolean
  /** Default 3. */
  readonly replicas?: number
  /** Default `registers`: see LoadOptions. */
  readonly reads?: 'registers' | 'snapshots'
  /** `both`: each replica serves both contracts in front of the v4 layout, and each request is sent to one of them. */
  readonly contracts?: 'v3' | 'both'
  /** Inject faults meanwhile; a name: this fault only. */
  readonly chaos: boolean | string
  /**
   * Each replica reaches Redis and the upstream over its own links, which have faults meanwhile; a name: this kind of
   * fault only, and only between replicas and Redis. The run goes on until each link had each kind of fault.
   */
  readonly links?: boolean | string
  /**
   * Responses are served in an outage, and those of the local tier while Redis is unreachable. `chaos` has the faults of the
   * worst hour too.
   */
  readonly worstHour?: boolean
  /** In the worst hour: the setting `cache.withoutRedis`. Default: `stale`. */
  readonly withoutRedis?: 'call' | 'stale'
  /**
   * One link at a time has a fault, for longer than what is stored is fresh. It begins when its replica serves what it has stored,
   * or computes from it. Callers write only meanwhile, and only through other replicas: its own writes would invalidate this.
   */
  readonly writesInFaults?: boolean
  /** The folder of another build of the edge, which the first replica runs. */
  readonly beside?: string | undefined
  /** A key of `planted`, or `no bypass`. The run ends at the first violation. */
  readonly fault?: string
  /**
   * Record the run (see test/faults/protocol/record.ts). No replica computes a response from a snapshot then. Do not
   * kill Redis or a replica meanwhile.
   */
  readonly isRecorded?: boolean
}

export interface Report extends Omit<Load, 'history'> {
  readonly writes: number
  readonly violations: readonly Violation[]
  /** How often each fault was injected. */
  readonly faults: Readonly<Record<string, number>>
  /** What the upstream received although it should not have: see `checkWrites`. */
  readonly wrongWrites: readonly string[]
  readonly linkEffects: readonly LinkEffect[]
  /** Hits while a link to Redis had a fault: through the replica of this link, and through any. */
  readonly hitsDuringLinkFaults: { readonly own: number; readonly all: number }
  readonly seconds: number
  readonly recording?: Recording
}

const CALLERS = 12
/** With slow links: a replica ends a call to a node after this time, and a caller waits for several of them. */
const LINK_TIMES = { timeout: '3s', patience: 20_000 }
const PATIENCE_MS = 8000
/** Reads since the last fault that show what a replica has stored. */
const STORED_READS = 10
/** Found only if a read is in flight from before a write until after it: the node holds the responses of reads so long. */
const HELD_MS: Readonly<Record<string, number>> = { 'no epochs': 500 }

export async function run(options: RunOptions): Promise<Report> {
  const {
    operations,
    seed,
    seconds = Number.POSITIVE_INFINITY,
    chaos,
    fault,
    links: linkOption = false,
    reads,
    writesInFaults = false,
  } = options
  const heedsBypass = fault !== 'no bypass'
  const layout = options.contracts === 'both' ? 'v4' : 'v3'
  const held = fault === undefined ? 0 : (HELD_MS[fault] ?? 0)
  const upstream = await startUpstream({ delay: fault === undefined ? 4 : 20, held, heedsBypass }, 1, layout)
  const redis = await startRedis()
  const recorder = options.isRecorded ? await startRecording(redis.port, upstream) : undefined
  const nodes = options.worstHour ? await proxyTo(upstream.url) : undefined
  const { replicas, links } = await startReplicas(options, nodes ? urlOf(nodes) : upstream.url, redis)
  const begin = performance.now()
  const writeLog = createWriteLog()
  const hits = { own: 0, all: 0 }
  /** By replica: reads since the last fault of a link that were served from what is stored, or computed from it. */
  const storedReads = new Map<string, number>()
  const loops: FaultLoop[] = []
  let linkChaos: LinkChaos | undefined
  let made: Chaos | undefined
  const observe = (outcome: Outcome) => {
    writeLog.add(outcome)
    recorder?.add(outcome)
    const cacheStatus = `${outcome.headers['cache-status']}`
    if (linkChaos?.isFaulty()) storedReads.clear()
    else if ((reads === 'snapshots' ? /;\s*detail=snapshot\b/ : /;\s*hit\b/).test(cacheStatus))
      storedReads.set(outcome.by, (storedReads.get(outcome.by) ?? 0) + 1)
    if (outcome.method === 'PUT' || !linkChaos?.isFaulty() || !/;\s*hit\b/.test(cacheStatus)) return
    hits.all += 1
    if (linkChaos.isFaulty(outcome.by)) hits.own += 1
  }
  const isOver = (history: readonly Operation[]) =>
    performance.now() - begin > seconds * 1000 || (fault !== undefined && violationsOf(history).length > 0)
  try {
    const load = startLoad({
      replicas: replicas.map(({ url }) => url),
      ...(layout === 'v4' && {
        v4: new Map(replicas.map(({ url, v4Url }) => [url, v4Url])),
        writtenValue: async (path) => Number(await (await fetch(`${upstream.url}${VALUE_PATH}?path=${path}`)).text()),
      }),
      operations,
      callers: CALLERS,
      random: createRandom(seed),
      patience: linkOption === false ? PATIENCE_MS : LINK_TIMES.patience,
      bound: linkOption !== false,
      ...(reads && { reads }),
      mayWrite: (by) => (writesInFaults ? linkChaos?.isFaulty() === true && !linkChaos.isFaulty(by) : !made?.isQuiet()),
      onOutcome: observe,
      enough: isOver,
      isUnfinished: (counted) => linkChaos?.isComplete() === false || options.until?.(counted) === false,
    })
    if (chaos !== false) {
      const only = typeof chaos === 'string' ? { only: chaos } : {}
      const parts = { replicas, redis, upstream, ...(nodes && { nodes }) }
      const hasQuiet = reads === 'snapshots'
      made = startChaos({
        ...parts,
        heedsBypass,
        load,
        random: createRandom(~seed),
        hasQuiet,
        isLoud: fault !== undefined,
        ...only,
      })
      loops.push(made)
    }
    if (linkOption !== false) {
      const only = typeof linkOption === 'string' ? { only: linkOption } : {}
      const affected = typeof linkOption === 'string' ? links.filter(({ to }) => to === 'Redis') : links
      linkChaos = startLinkFaults({
        links: affected,
        random: createRandom(seed + 1),
        isLong: writesInFaults,
        hasStored: (replica) => (storedReads.get(replica) ?? 0) >= STORED_READS,
        ...only,
      })
      loops.push(linkChaos)
    }
    const { history, ...counted } = await load.finished
    await Promise.all(loops.map((loop) => loop.stop()))
    const recording = await recorder?.stop()
    return {
      ...counted,
      ...(recording && { recording }),
      writes: history.filter(({ kind }) => kind !== 'read').length,
      violations: violationsOf(history),
      faults: made?.made ?? {},
      wrongWrites: wrongWritesOf(writeLog, (await upstream.report()).byPath),
      linkEffects: linkChaos?.effects() ?? [],
      hitsDuringLinkFaults: hits,
      seconds: (performance.now() - begin) / 1000,
    }
  } finally {
    await Promise.all(loops.map((loop) => loop.stop()))
    await closeAll(...replicas, redis, upstream, ...links.map(({ proxy }) => proxy), ...(nodes ? [nodes] : []))
  }
}

async function startReplicas(
  {
    replicas: count = 3,
    links: linkOption = false,
    beside,
    fault,
    isRecorded,
    contracts,
    worstHour,
    withoutRedis = 'stale',
  }: RunOptions,
  upstream: string,
  redis: RedisServer,
): Promise<{ replicas: Replica[]; links: Link[] }> {
  const cache = {
    ...(!isRecorded && { snapshots: { groups: ['agents'] } }),
    // Short: an outage begins after it. With links, writers wait for the lease of a replica that serves what is older.
    ...(worstHour && { ttl: { agents: linkOption === false ? '500ms' : '10s' }, outage: '1h', withoutRedis }),
  }
  const links: Link[] = []
  const start = async (_: unknown, at: number): Promise<Replica> => {
    const other = at === 0 && beside !== undefined ? { build: beside, cache: {} } : {}
    const layout = contracts === 'both' ? 'v4' : 'v3'
    const common = { upstream, redis: redis.url, layout, cache } as const
    const parts: ReplicaOptions = { ...common, ...(fault && { fault }), ...other }
    if (linkOption === false) return startReplica(parts)
    const [toRedis, toNode] = await Promise.all([redis.url, upstream].map(proxyTo))
    if (toRedis === undefined || toNode === undefined) throw new Error('no proxy')
    const urls = { redis: `redis://127.0.0.1:${toRedis.port}`, upstream: urlOf(toNode) }
    const replica = await startReplica({ ...parts, ...urls, timeout: LINK_TIMES.timeout })
    const name = `replica ${at + 1}`
    links.push({ name: `${name} – Redis`, replica: replica.url, to: 'Redis', proxy: toRedis })
    links.push({ name: `${name} – node`, replica: replica.url, to: 'node', proxy: toNode })
    return replica
  }
  const replicas = await Promise.all(Array.from({ length: count }).map(start))
  return { replicas, links: links.sort((one, other) => one.name.localeCompare(other.name)) }
}

const proxyTo = (url: string) => startFaultProxy(Number(new URL(url).port))
const urlOf = ({ port }: FaultProxy) => `http://127.0.0.1:${port}`

async function closeAll(...parts: readonly { close(): Promise<unknown> }[]): Promise<void> {
  await Promise.all(parts.map((each) => each.close()))
}

/** Returns why the run proves nothing about links: faults without an effect, or no hits meanwhile. */
export function missingProofs({ linkEffects, hitsDuringLinkFaults }: Report): string[] {
  if (linkEffects.length === 0) return []
  const names = (['kind', 'link'] as const).flatMap((by) => ineffective(linkEffects, by))
  const missing = names.map((name) => `no effect: ${name}`)
  return hitsDuringLinkFaults.all > 0 ? missing : [...missing, 'no hits while a link to Redis had a fault']
}

/** Returns the report as a few lines of text. */
export function describe(report: Report): string {
  const { operations, writes, reads, hits, derived, unanswered, refused, violations, faults, seconds } = report
  const { wrongWrites, linkEffects, hitsDuringLinkFaults } = report
  const { inOutage, derivedInOutage, withoutRedis, derivedWithoutRedis } = report
  const ratio = reads === 0 ? 0 : (100 * hits) / reads
  const kinds = ['stale', 'backwards', 'early'].map(
    (name) => `${violations.filter(({ kind }) => kind === name).length} ${name}`,
  )
  const made = Object.entries(faults).map(([name, times]) => `${name} ${times}`)
  const ofLinks = [
    `hits while a link to Redis had a fault: ${hitsDuringLinkFaults.all}, ${hitsDuringLinkFaults.own} through its replica`,
    describeEffects(linkEffects),
  ]
  return [
    `${operations} operations in ${seconds.toFixed(1)} s (${(operations / seconds).toFixed(0)} per second), ${writes} writes (${refused} not carried out), ${unanswered} without a response`,
    `${violations.length} violations (${kinds.join(', ')}), hit ratio ${ratio.toFixed(1)} %, ${derived} of ${reads} reads computed from snapshots, ${inOutage} served in an outage (${derivedInOutage} computed), ${withoutRedis} without Redis (${derivedWithoutRedis} computed)`,
    `${wrongWrites.length} writes sent although refused, or twice${wrongWrites.length > 0 ? `: ${wrongWrites.slice(0, 5).join('; ')}` : ''}`,
    `faults: ${made.length === 0 ? 'none' : made.join(', ')}`,
    ...(linkEffects.length === 0 ? [] : ofLinks),
  ].join('\n')
}
