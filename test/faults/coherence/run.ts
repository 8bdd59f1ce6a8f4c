/** One run of the checker: three replicas, a real Redis, an upstream, a load, faults, and the violations. */
import { type RedisServer, startRedis } from '../../support/redis.ts'
import { type Chaos, startChaos } from './chaos.ts'
import { check, type Violation } from './history.ts'
import { type Load, startLoad } from './load.ts'
import { type Replica, startReplica, startUpstream, type Upstream } from './processes.ts'
import { createRandom } from './random.ts'

export interface RunOptions {
  readonly operations: number
  readonly seed: number
  /** Seconds after which no operation begins. */
  readonly seconds?: number
  /** Default 3. */
  readonly replicas?: number
  /** Default `registers`: see LoadOptions. */
  readonly reads?: 'registers' | 'snapshots'
  /** Inject faults meanwhile; a name: this fault only. */
  readonly chaos: boolean | string
  /** The folder of another build of the edge, which the first replica runs. */
  readonly beside?: string | undefined
  /** A key of `planted`, or `no bypass`. The run ends at the first violation. */
  readonly fault?: string
}

export interface Report extends Omit<Load, 'history'> {
  readonly writes: number
  readonly violations: readonly Violation[]
  /** How often each fault was injected. */
  readonly faults: Readonly<Record<string, number>>
  readonly seconds: number
}

export async function run(options: RunOptions): Promise<Report> {
  const {
    operations,
    seed,
    seconds = Number.POSITIVE_INFINITY,
    replicas: count = 3,
    chaos,
    fault,
    beside,
    reads,
  } = options
  const heedsBypass = fault !== 'no bypass'
  const upstream = await startUpstream({ delay: fault === undefined ? 4 : 20, heedsBypass })
  const redis = await startRedis()
  const cache = { snapshots: { groups: ['agents'] } }
  const parts = { upstream: upstream.url, redis: redis.url, cache, ...(fault !== undefined && { fault }) }
  const other = beside === undefined ? {} : { build: beside, cache: {} }
  const replicas = await Promise.all(
    Array.from({ length: count }, (_, at) => startReplica({ ...parts, ...(at === 0 && other) })),
  )
  const begin = performance.now()
  let made: Chaos | undefined
  try {
    const load = startLoad({
      replicas: replicas.map(({ url }) => url),
      operations,
      callers: 12,
      random: createRandom(seed),
      patience: 8000,
      ...(reads && { reads }),
      enough: (history) =>
        performance.now() - begin > seconds * 1000 || (fault !== undefined && check(history).length > 0),
    })
    if (chaos !== false) {
      const only = typeof chaos === 'string' ? { only: chaos } : {}
      made = startChaos({ replicas, redis, upstream, heedsBypass, load, random: createRandom(~seed), ...only })
    }
    const { history, ...counted } = await load.finished
    const faults = (await made?.stop()) ?? {}
    return {
      ...counted,
      writes: history.filter(({ kind }) => kind === 'write').length,
      violations: check(history),
      faults,
      seconds: (performance.now() - begin) / 1000,
    }
  } finally {
    await made?.stop()
    await closeAll(replicas, redis, upstream)
  }
}

async function closeAll(replicas: readonly Replica[], redis: RedisServer, upstream: Upstream): Promise<void> {
  await Promise.all([...replicas, redis, upstream].map((each) => each.close()))
}

/** Returns the report as a few lines of text. */
export function describe(report: Report): string {
  const { operations, writes, reads, hits, derived, unanswered, violations, faults, seconds } = report
  const ratio = reads === 0 ? 0 : (100 * hits) / reads
  const kinds = ['stale', 'backwards', 'early'].map(
    (name) => `${violations.filter(({ kind }) => kind === name).length} ${name}`,
  )
  const made = Object.entries(faults).map(([name, times]) => `${name} ${times}`)
  return [
    `${operations} operations in ${seconds.toFixed(1)} s (${(operations / seconds).toFixed(0)} per second), ${writes} writes, ${unanswered} without a response`,
    `${violations.length} violations (${kinds.join(', ')}), hit ratio ${ratio.toFixed(1)} %, ${derived} of ${reads} reads computed from snapshots`,
    `faults: ${made.length === 0 ? 'none' : made.join(', ')}`,
  ].join('\n')
}
