/** A replica that leases slots of one node from a real Redis and runs calls of random length on them. */
import type { NodeSlots } from '../../../src/core/node-call.ts'
import type { RedisTimes } from '../../../src/replicas/options.ts'
import { RedisReplica } from '../../../src/replicas/replica.ts'
import { createSharedSlots } from '../../../src/replicas/shared-slots.ts'

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
  /** Ends with its calls, which would go on beside the next tests. */
  close(): Promise<void>
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
  /** Calls of one kind; a million of them in a separate list would be moved at each start of a call. */
  const queue: { left: number; readonly ms: () => number }[] = []
  let inFlight = 0
  let finished = 0
  let isDead = false
  const count = (change: number) => {
    inFlight += change
    load.inFlight += change
    load.most = Math.max(load.most, load.inFlight)
  }
  const report = () => {
    const queued = queue.reduce((sum, { left }) => sum + left, 0)
    lease.update(inFlight, Math.min(inFlight + queued, limit()))
  }
  const takeQueued = () => {
    const [first] = queue
    if (first === undefined) return
    first.left -= 1
    if (first.left === 0) queue.shift()
    return first.ms
  }
  const startQueued = () => {
    while (!isDead && inFlight < lease.usable) {
      const ms = takeQueued()
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
      queue.push({ left: calls, ms })
      report()
      startQueued()
    },
    kill() {
      isDead = true
      for (const connection of [replica.commands, replica.bodies]) connection.close()
      count(-inFlight)
    },
    close() {
      isDead = true
      return replica.close()
    },
  }
}
