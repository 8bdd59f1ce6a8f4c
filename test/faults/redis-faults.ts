/** What can become of Redis under load, and what two replicas of the edge make of it. */
import { randomBytes } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { authorization, type Replica, startReplica, startUpstream, type Upstream } from '../coherence/processes.ts'
import { createRandom } from '../coherence/random.ts'
import { type RedisServer, startRedis } from '../redis.ts'
import { type Phase, type Steady, startSteady } from './redis-load.ts'

export interface Stage {
  readonly upstream: Upstream
  readonly redis: RedisServer
  readonly replicas: readonly Replica[]
  close(): Promise<void>
}

/** Calls at once that each replica may have under way at the upstream. */
export const IN_FLIGHT = 4
const FRESH_FOR = '60s'

/** Two replicas of the edge, a Redis and an upstream. `timeout`: of a call, such as `3s`. */
export async function startStage(timeout?: string): Promise<Stage> {
  const upstream = await startUpstream({ delay: 5, heedsBypass: true })
  const redis = await startRedis()
  const options = {
    upstream: upstream.url,
    redis: redis.url,
    inFlight: IN_FLIGHT,
    cache: { durations: { agents: FRESH_FOR } },
    ...(timeout !== undefined && { timeout }),
  }
  const replicas = await Promise.all([startReplica(options), startReplica(options)])
  return {
    upstream,
    redis,
    replicas,
    close: async () => void (await Promise.all([...replicas, redis, upstream].map((each) => each.close()))),
  }
}

type Fault = (stage: Stage, time: number) => Promise<void>

/** Each ends with Redis as it should be; `time`: milliseconds that it is not. */
export const faults = {
  killed: async ({ redis }, time) => {
    await redis.kill()
    await wait(time)
    await redis.restart()
  },
  paused: async ({ redis }, time) => {
    redis.pause()
    await wait(time)
    redis.resume()
  },
  flushed: async ({ redis }, time) => {
    const client = redis.client()
    for (const until = performance.now() + time; performance.now() < until; await wait(200)) await client.flushall()
  },
  full: async ({ redis }, time) => {
    const client = redis.client()
    await client.config('SET', 'maxmemory', '1')
    await wait(time)
    await client.config('SET', 'maxmemory', '0')
  },
  garbage: async ({ redis, replicas }, time) => {
    const client = redis.client()
    for (const until = performance.now() + time; performance.now() < until; await wait(200)) {
      for (const key of await client.keys('edge:c:*')) await client.set(key, randomBytes(1 + (key.length % 97)))
      // After a write nobody has a near copy, so all look into Redis.
      const put = { method: 'PUT', headers: { authorization } }
      await Promise.all(replicas.map(({ url }, at) => fetch(`${url}/agents/00${at + 1}/group/web`, put)))
    }
  },
} satisfies Record<string, Fault>

export type FaultName = keyof typeof faults

export interface Course {
  readonly before: Phase
  readonly during: Phase
  readonly after: Phase
  /** Of all phases, and of those between them. */
  readonly failures: readonly string[]
  /** Milliseconds from the end of the fault until most requests were hits. */
  readonly recovery: number
  /** Calls at once at the upstream, at most. */
  readonly most: number
}

export interface CourseOptions {
  readonly rate: number
  /** Milliseconds of each phase. */
  readonly time: number
  readonly seed: number
}

/** More than this is no recovery, on the busiest machine. */
const PATIENCE = 20_000

export async function course(stage: Stage, name: FaultName, { rate, time, seed }: CourseOptions): Promise<Course> {
  const { upstream, replicas } = stage
  const steady = startSteady({ replicas: replicas.map(({ url }) => url), rate, random: createRandom(seed) })
  await untilHot(steady, 'warming')
  await upstream.report()
  steady.phase('before')
  await wait(time)
  steady.phase('during')
  await faults[name](stage, time)
  const recovery = await untilHot(steady, 'returning')
  steady.phase('after')
  await wait(time)
  const { before, during, after, ...others } = await steady.stop()
  const { most } = await upstream.report()
  if (!before || !during || !after) throw new Error('a phase is missing')
  const failures = [before, during, after, ...Object.values(others)].flatMap((phase) => phase.failures)
  return { before, during, after, failures, most, recovery }
}

/** Milliseconds until most requests are hits, or so many that it does not matter. */
async function untilHot(steady: Steady, phase: string): Promise<number> {
  const begin = performance.now()
  do {
    steady.phase(`${phase} ${performance.now()}`)
    await wait(300)
  } while (steady.hitRatio() < 0.6 && performance.now() - begin < PATIENCE)
  return performance.now() - begin
}

/** One line for a reader. */
export function line(name: string, { before, during, after, failures, most, recovery }: Course): string {
  const phase = ({ requests, hits, p50, p99 }: Phase): string =>
    `${requests} requests, ${Math.round((100 * hits) / requests)} % hits, p50 ${p50.toFixed(1)}, p99 ${p99.toFixed(1)} ms`
  const counted = `${failures.length} failed, recovered in ${Math.round(recovery)} ms, upstream at most ${most} at once`
  return `${name}: before ${phase(before)}; during ${phase(during)}; after ${phase(after)}; ${counted}`
}
