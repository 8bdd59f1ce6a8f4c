/** Injects one fault after the other while a load runs: replicas, Redis and the upstream are paused, killed or slow. */
import type { RedisServer } from '../../support/redis.ts'
import { type FaultLoop, loopFaults } from './fault-loop.ts'
import type { Running } from './load.ts'
import type { Replica, Upstream } from './processes.ts'
import type { Random } from './random.ts'

export interface ChaosOptions {
  readonly replicas: readonly Replica[]
  readonly redis: RedisServer
  readonly upstream: Upstream
  readonly heedsBypass: boolean
  readonly load: Running
  readonly random: Random
  /** Name of the only fault to inject; all faults if absent. */
  readonly only?: string
}

export interface Chaos extends FaultLoop {
  /** How often each fault was injected. */
  readonly made: Readonly<Record<string, number>>
}

const NORMAL = 4
const SLOW = 150

type Fault = (options: ChaosOptions, wait: (milliseconds: number) => Promise<void>) => Promise<void>

/** Pauses are shorter and longer than the lease of two seconds. */
const faults: Readonly<Record<string, Fault>> = {
  'replica paused': async ({ replicas, random }, wait) => {
    const replica = random.of(replicas)
    replica.pause()
    await wait(200 + random.below(3300))
    replica.resume()
  },
  'Redis paused': async ({ redis, random }, wait) => {
    redis.pause()
    await wait(100 + random.below(3000))
    redis.resume()
  },
  'Redis killed': async ({ redis, random }, wait) => {
    await redis.kill()
    await wait(random.below(2500))
    await redis.restart()
  },
  'writer killed': async ({ replicas, upstream, heedsBypass, load, random }, wait) => {
    const replica = random.of(replicas)
    upstream.behave({ delay: SLOW, heedsBypass })
    const written = load.write(replica.url)
    await wait(random.below(2 * SLOW))
    await replica.restart()
    upstream.behave({ delay: NORMAL, heedsBypass })
    await written
  },
  'upstream slow': async ({ upstream, heedsBypass, random }, wait) => {
    upstream.behave({ delay: SLOW, heedsBypass })
    await wait(500 + random.below(1500))
    upstream.behave({ delay: NORMAL, heedsBypass })
  },
}

export function startChaos(options: ChaosOptions): Chaos {
  const { random } = options
  const made: Record<string, number> = {}
  const entries = Object.entries(faults).filter(([name]) => (options.only ?? name) === name)
  let turn = 0
  const pause = () => 300 + random.below(1200)
  const loop = loopFaults(pause, async (wait) => {
    // Every fault is injected once before any is repeated.
    const [name, fault] = entries[turn] ?? random.of(entries)
    turn += 1
    await fault(options, wait)
    made[name] = (made[name] ?? 0) + 1
  })
  return { ...loop, made }
}
