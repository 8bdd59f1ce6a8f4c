/** Injects one fault after the other while a load runs: replicas, Redis and the upstream are paused, killed or slow. */
import type { RedisServer } from '../../support/redis.ts'
import type { FaultProxy } from '../proxy.ts'
import { leaveAll } from '../suite/departures.ts'
import { type FaultLoop, loopFaults } from './fault-loop.ts'
import type { Running } from './load.ts'
import type { Replica, Upstream } from './processes.ts'
import type { Random } from './random.ts'

export interface ChaosOptions {
  readonly replicas: readonly Replica[]
  readonly redis: RedisServer
  readonly upstream: Upstream
  /** In front of the upstream for all replicas. Absent: no fault of the worst hour is injected. */
  readonly nodes?: FaultProxy
  readonly heedsBypass: boolean
  readonly load: Running
  readonly random: Random
  /** Name of the only fault to inject; all faults if absent. */
  readonly only?: string
  /** In most faults of the worst hour, callers are to write nothing: `isQuiet`. */
  readonly hasQuiet?: boolean
  /** Each fault of the worst hour begins with the response to a write, and callers go on writing. */
  readonly isLoud?: boolean
}

export interface Chaos extends FaultLoop {
  /** How often each fault was injected. */
  readonly made: Readonly<Record<string, number>>
  /** Whether no caller writes, so that what is stored is valid in the fault. */
  isQuiet(): boolean
}

const NORMAL = 4
const SLOW = 150

type Wait = (milliseconds: number) => Promise<void>
type Fault = (options: ChaosOptions, wait: Wait) => Promise<void>

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
  // Reads are in flight from before a write until after it.
  'responses held': async ({ upstream, heedsBypass, random }, wait) => {
    upstream.behave({ delay: NORMAL, held: SLOW, heedsBypass })
    await wait(500 + random.below(1500))
    upstream.behave({ delay: NORMAL, heedsBypass })
  },
}

const LEAVING_CLIENTS = 40
/** Replicas use Redis again 2 s after a fault. Then they need time to store what they serve without it. */
const RECOVERED_MS = 5000

const MAX_RECOVERY_WRITES = 40

/** Ends an outage, and waits until each replica carries out writes again, so that what the next fault finds is new. */
async function recoverNodes({ nodes, replicas, load }: ChaosOptions, wait: Wait): Promise<void> {
  await nodes?.set({ kind: 'pass' })
  const isWritten = async () => (await Promise.all(replicas.map(({ url }) => load.write(url)))).every(Boolean)
  for (let written = 0; written < MAX_RECOVERY_WRITES && !(await isWritten()); written += 1) await wait(250)
}

/**
 * While all nodes or Redis are down longer than any lease, and while clients leave a node that is slow. The first has all kinds of
 * reads that are served meanwhile.
 */
export const worstHour: Readonly<Record<string, Fault>> = {
  'nodes refuse, Redis stalled': async (options, wait) => {
    const { nodes, redis, random } = options
    await wait(RECOVERED_MS)
    await nodes?.set({ kind: 'refuse' })
    await wait(2000 + random.below(1000))
    redis.pause()
    await wait(3000 + random.below(4000))
    redis.resume()
    await wait(random.below(2000))
    await recoverNodes(options, wait)
  },
  'nodes refuse': async (options, wait) => {
    const { nodes, random } = options
    await nodes?.set({ kind: 'refuse' })
    await wait(2000 + random.below(6000))
    await recoverNodes(options, wait)
  },
  'Redis stalled': async ({ redis, random }, wait) => {
    await wait(RECOVERED_MS)
    redis.pause()
    await wait(3000 + random.below(6000))
    redis.resume()
  },
  'nodes hang': async (options, wait) => {
    const { nodes, random } = options
    await nodes?.set({ kind: 'stall' })
    await wait(4000 + random.below(12_000))
    await recoverNodes(options, wait)
  },
  'clients leave': async ({ replicas, upstream, heedsBypass, random }, wait) => {
    upstream.behave({ delay: SLOW, steady: SLOW, heedsBypass })
    const ports = replicas.map(({ url }) => Number(new URL(url).port))
    for (let round = 0; round < 5; round += 1) {
      await leaveAll({ ports, clients: LEAVING_CLIENTS, within: 60, random })
      await wait(300)
    }
    upstream.behave({ delay: NORMAL, heedsBypass })
  },
}

/** Faults that begin at once. The node holds reads, so that nothing is stored between the write and the fault. */
const isOutage = (name: string) => name === 'nodes refuse' || name === 'nodes hang'
const HELD = 500

/** Time for all replicas to read what the last write has invalidated, and enough reads that are computed from it. */
const QUIET_MS = 2500
const DERIVED_IN_QUIET = 20
/** A collection that could not be read is not tried again for 30 s. */
const MAX_QUIET_WAITS = 320

/** Waits until enough reads are computed, and no write that is fenced prevents it. A busy machine takes longer for the reads. */
async function waitForDerived({ load: { counted }, redis }: ChaosOptions, wait: Wait): Promise<void> {
  const { derived } = counted
  let forgotten = 0
  const isEnough = () => counted.derived - derived >= DERIVED_IN_QUIET
  await wait(QUIET_MS)
  for (let waits = 0; waits < MAX_QUIET_WAITS && !isEnough(); waits += 1) {
    // A write with an unknown outcome leaves its fence for minutes. Redis forgets fences when it starts again.
    if (counted.unknown > forgotten) await redis.restart()
    forgotten = counted.unknown
    await wait(100)
  }
}

/** Returns the faults of the worst hour and the others in turn, so that a short run has both. */
function orderedFaults({ nodes, only }: ChaosOptions): readonly (readonly [string, Fault])[] {
  const [worst, others] = [Object.entries(nodes === undefined ? {} : worstHour), Object.entries(faults)]
  const ordered = others.flatMap((other, at) => [...worst.slice(at, at + 1), other])
  return ordered.filter(([name]) => (only ?? name) === name)
}

export function startChaos(options: ChaosOptions): Chaos {
  const { random, upstream, heedsBypass } = options
  const made: Record<string, number> = {}
  let isQuiet = false
  /**
   * Every second fault of the worst hour begins with the response to a write, whose value nothing stored has yet, and callers go
   * on writing.
   */
  let isLoud = true
  const entries = orderedFaults(options)
  let turn = 0
  const pause = () => 300 + random.below(1200)
  const loop = loopFaults(pause, async (wait) => {
    // Every fault is injected once before any is repeated.
    const [name, fault] = entries[turn] ?? random.of(entries)
    turn += 1
    const isWorst = options.nodes !== undefined && name in worstHour
    isQuiet = options.hasQuiet === true && isWorst
    if (isQuiet) await waitForDerived(options, wait)
    if (isWorst) isLoud = !isLoud
    if (isWorst && (!isQuiet || options.isLoud || isLoud)) {
      isQuiet = false
      if (isOutage(name)) upstream.behave({ delay: NORMAL, held: HELD, heedsBypass })
      await options.load.write(random.of(options.replicas).url)
    }
    await fault(options, wait)
    if (isOutage(name)) upstream.behave({ delay: NORMAL, heedsBypass })
    isQuiet = false
    made[name] = (made[name] ?? 0) + 1
  })
  return { ...loop, made, isQuiet: () => isQuiet }
}
