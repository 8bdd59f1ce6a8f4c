/** R1 to R4: a real Redis is killed, hangs, fails over, moves its slots, is full, is flushed, or returns garbage. */
import { samplesOf, sumOf } from '../../../support/scrape.ts'
import { authorization } from '../../coherence/processes.ts'
import { type CourseResult, hitRatio, runCourse } from '../../redis-course.ts'
import { type FaultName, failOver, faults, moveSlots } from '../../redis-faults.ts'
import { isHot } from '../../redis-load.ts'
import {
  type ClusterStage,
  MAX_CALLS,
  type Stage,
  startClusterStage,
  startSentinelStage,
  startStage,
} from '../../redis-stage.ts'
import { affordableRate } from '../calls.ts'
import { type Call, type Phase, phaseOf } from '../load.ts'
import { effect, type FaultPromise, type Figure, figure, none, type RunContext } from '../promise.ts'
import { coherenceDuring } from './coherence.ts'

/** Longer than the lease of the local tier (two seconds), so that the fault reaches every lookup. */
const LEAST_MS = 2500
const LEASE_MS = 2000

interface Course {
  readonly name: string
  readonly stage: Stage
  readonly fault: (time: number) => Promise<void>
  /** A count that only the fault increases. */
  readonly sign: Sign
  readonly writers?: number
  /** False: the fault is repeated writes, which make lookups slower by themselves. Default true. */
  readonly isTimed?: boolean
}

interface Sign {
  readonly name: string
  count(stage: Stage): Promise<number>
}

async function figuresOf(context: RunContext, course: Course): Promise<Figure[]> {
  const { name, stage, sign, writers = 0 } = course
  const time = context.duration(10_000, LEAST_MS)
  const notReady: string[] = []
  let before = 0
  const fault = async () => {
    before = await sign.count(stage)
    const over = watchReadiness(stage, notReady)
    await context.inject(() => course.fault(time))
    await over()
  }
  const urls = stage.replicas.map(({ url }) => url)
  // During the fault, most requests are misses.
  let last = 1000
  const miss = (): Call => {
    last += 1
    return { origin: context.random.of(urls), path: `/agents/${last}`, headers: { authorization } }
  }
  const rate = await affordableRate(context.rate, miss)
  const meter = context.meter(stage.upstream, ...stage.replicas)
  const result = await runCourse(stage, fault, { rate, time, seed: context.seed, writers, meter })
  context.requireCalm(result.before.p99)
  const signs = (await sign.count(stage)) - before
  return [
    effect(`${name}: ${sign.name}`, signs, signs > 0),
    ...limitsOf(context, course, result),
    none(`${name}: /readyz other than 200`, notReady),
  ]
}

function limitsOf(context: RunContext, { name, isTimed = true }: Course, result: CourseResult): Figure[] {
  const { before, during, after, failures, maxCalls, recovery, written } = result
  const hot = (phase: Phase) => phaseOf(phase.samples.filter(isHot))
  const [hotBefore, hotAfter] = [hitRatio(hot(before)), hitRatio(hot(after))]
  // With few requests, the ratio itself is not exact: two standard errors.
  const error = 2 * Math.sqrt((2 * hotBefore * (1 - hotBefore)) / Math.max(1, hot(after).requests))
  const hits = `${(100 * hotBefore).toFixed(0)} % → ${(100 * hotAfter).toFixed(0)} %`
  return [
    none(`${name}: failures of ${before.requests + during.requests + after.requests}`, failures),
    ...(isTimed
      ? [context.within(`${name}: p99 during it (base ${before.p99.toFixed(1)})`, during.p99, before.p99 + 100)]
      : []),
    figure(`${name}: upstream concurrency`, maxCalls, `≤ ${2 * MAX_CALLS}`, maxCalls <= 2 * MAX_CALLS),
    // A replica trusts the store again one lease after its connection has returned.
    context.within(`${name}: recovered after`, recovery, LEASE_MS + 2000),
    figure(
      `${name}: hits of hot keys before and after`,
      hits,
      `≥ 95 % of before, exact to ${(100 * error).toFixed(0)} %`,
      hotAfter >= 0.95 * hotBefore - error,
    ),
    ...(written === undefined
      ? []
      : [
          none(
            `${name}: wrong reads of ${written.operations} operations`,
            written.violations.map((one) => JSON.stringify(one)),
          ),
          figure(`${name}: operations without a response`, written.unanswered, '0', written.unanswered === 0),
        ]),
  ]
}

/** Returns the sign that the replicas count this event of their connection to Redis. */
function event(name: string): Sign {
  const metric = 'edge_redis_events_total'
  return {
    name: `${metric}{event="${name}"}`,
    async count({ replicas }) {
      const texts = await Promise.all(
        replicas.map(async (each) => (await fetch(`${each.operationsUrl}/metrics`)).text()),
      )
      return texts.reduce((sum, text) => sum + sumOf(samplesOf(text), metric, { event: name }), 0)
    },
  }
}

/** Counts the keys that were moved, by the count of Redis itself. */
function movedKeys({ cluster }: ClusterStage): Sign {
  const clients = cluster.nodes.map((node) => node.client())
  return {
    name: 'MIGRATE commands',
    async count() {
      const infos = await Promise.all(clients.map((client) => client.info('commandstats')))
      return infos.reduce((sum, info) => sum + Number(/cmdstat_migrate:calls=(\d+)/.exec(info)?.[1] ?? 0), 0)
    },
  }
}

/** Reads /readyz of every replica until the returned function is called. */
function watchReadiness({ replicas }: Stage, notReady: string[]): () => Promise<void> {
  let over = false
  const watching = Promise.all(
    replicas.map(async ({ operationsUrl }) => {
      while (!over) {
        const { status } = await fetch(`${operationsUrl}/readyz`)
        if (status !== 200) notReady.push(`${operationsUrl} ${status}`)
        await new Promise((resolve) => setTimeout(resolve, 100))
      }
    }),
  )
  return async () => {
    over = true
    await watching
  }
}

async function single(context: RunContext, name: FaultName, sign: Sign, isTimed = true): Promise<Figure[]> {
  const stage = context.keep(await startStage({ timeout: '3s' }))
  return figuresOf(context, { name, stage, sign, isTimed, fault: (time) => faults[name](stage, time) })
}

const planted = 'the fault is not injected'

export const redisPromises: readonly FaultPromise[] = [
  {
    id: 'R1',
    title: 'Redis killed: no request fails',
    planted,
    run: (context) => single(context, 'killed', event('unreachable')),
  },
  {
    id: 'R2',
    title: 'Redis hangs: no request fails, and the edge stays ready',
    planted,
    run: async (context) => [
      ...(await single(context, 'paused', event('slow'))),
      ...(await coherenceDuring(context, 'Redis stalled', 'withoutRedis')),
    ],
  },
  {
    id: 'R3',
    title: 'Redis fails over or moves slots: cold, never wrong',
    planted,
    async run(context) {
      const sentinel = context.keep(await startSentinelStage({ timeout: '3s' }))
      const cluster = context.keep(await startClusterStage({ timeout: '3s' }))
      const writers = 3
      const failedOver = { name: 'failover', stage: sentinel, writers, sign: event('unreachable') }
      const moved = { name: 'slots', stage: cluster, writers, sign: movedKeys(cluster) }
      return [
        ...(await figuresOf(context, { ...failedOver, fault: () => failOver(sentinel, 1000) })),
        ...(await figuresOf(context, { ...moved, fault: (time) => moveSlots(cluster, time) })),
      ]
    },
  },
  {
    id: 'R4',
    title: 'Redis full, flushed or with garbage: a miss, never an error',
    planted,
    run: async (context) => [
      ...(await single(context, 'full', event('full'))),
      ...(await single(context, 'flushed', event('localTierDiscarded'))),
      ...(await single(context, 'garbage', event('corrupt'), false)),
    ],
  },
]
