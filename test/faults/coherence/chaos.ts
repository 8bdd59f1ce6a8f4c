/** Injects one fault after the other while a load runs: replicas, Redis and the upstream are paused, killed or slow. */
import type { RedisServer } from '../../support/redis.ts'
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

export interface Chaos {
  /** Ends the current fault, restores the normal state, and returns how often each fault was injected. */
  stop(): Promise<Readonly<Record<string, number>>>
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
  const stopped = new AbortController()
  const wait = (milliseconds: number): Promise<void> => {
    const { promise, settle } = settling()
    const timer = setTimeout(settle, milliseconds)
    stopped.signal.addEventListener('abort', settle, { once: true })
    if (stopped.signal.aborted) settle()
    return promise.finally(() => {
      clearTimeout(timer)
      stopped.signal.removeEventListener('abort', settle)
    })
  }
  const under = (async () => {
    // Every fault is injected once before any is repeated.
    for (let turn = 0; !stopped.signal.aborted; turn += 1) {
      await wait(300 + random.below(1200))
      const entries = Object.entries(faults).filter(([name]) => (options.only ?? name) === name)
      const [name, fault] = turn < entries.length ? (entries[turn] ?? random.of(entries)) : random.of(entries)
      if (stopped.signal.aborted) break
      await fault(options, wait)
      made[name] = (made[name] ?? 0) + 1
    }
  })()
  return {
    stop: async () => {
      stopped.abort()
      await under
      return made
    },
  }
}

function settling(): { promise: Promise<void>; settle: () => void } {
  let settle = () => {}
  const promise = new Promise<void>((resolve) => {
    settle = resolve
  })
  return { promise, settle }
}
