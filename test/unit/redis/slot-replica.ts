/** A replica that leases slots of one node from a real Redis and runs calls of random length on them. */
import type { NodeSlots } from '../../../src/core/slots.ts'
import type { RedisTimes } from '../../../src/redis/options.ts'
import { RedisReplica } from '../../../src/redis/replica.ts'
import { createSharedSlots } from '../../../src/redis/shared-slots.ts'

/** Longer than this process is without a processor on a busy machine. */
const LEASE_MS = 2000
export const HEARTBEAT_MS = 100
/** So long that Redis counts as reachable however busy the machine is. */
const COMMAND_TIMEOUT_MS = 20_000

export const NODE = 'master'

/** Calls in flight on the node, of all replicas. */
export interface NodeLoad {
  inFlight: number
  most: number
}

export interface SlotReplica {
  readonly lease: NodeSlots
  readonly replica: RedisReplica
  readonly inFlight: number
  readonly finished: number
  /** Queues calls of `ms` milliseconds each. */
  call(count: number, ms: () => number): void
  /** Ends without returning slots, like a process that is killed. Its calls end with it. */
  kill(): void
}

interface Options {
  readonly url: string
  readonly limit: () => number
  readonly load: NodeLoad
  readonly times?: Partial<RedisTimes>
}

export async function startSlotReplica(options: Options): Promise<SlotReplica> {
  const { url, limit, load } = options
  const times = {
    lease: LEASE_MS,
    heartbeatInterval: HEARTBEAT_MS,
    commandTimeout: COMMAND_TIMEOUT_MS,
    ...options.times,
  }
  const replica = new RedisReplica({ redis: { url }, times })
  const queue: (() => number)[] = []
  let inFlight = 0
  let finished = 0
  let isDead = false
  const count = (change: number) => {
    inFlight += change
    load.inFlight += change
    load.most = Math.max(load.most, load.inFlight)
  }
  const report = () => lease.update(inFlight, Math.min(inFlight + queue.length, limit()))
  const startQueued = () => {
    while (!isDead && inFlight < lease.usable) {
      const ms = queue.shift()
      if (ms === undefined) break
      count(1)
      setTimeout(() => {
        if (isDead) return
        count(-1)
        finished += 1
        report()
        startQueued()
      }, ms()).unref()
    }
    if (!isDead) report()
  }
  const lease = createSharedSlots(replica).open(NODE, limit, startQueued)
  await replica.start()
  return {
    lease,
    replica,
    get inFlight() {
      return inFlight
    },
    get finished() {
      return finished
    },
    call(calls, ms) {
      for (let each = 0; each < calls; each += 1) queue.push(ms)
      report()
      startQueued()
    },
    kill() {
      isDead = true
      for (const connection of [replica.commands, replica.bodies]) connection.close()
      count(-inFlight)
    },
  }
}
