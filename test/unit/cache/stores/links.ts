/**
 * Two replicas of the store, each behind its own links to Redis, in front of one value at an upstream. Every read is
 * checked: it must not be older than a write that was carried out, and answered, before the read began.
 */
import type { Test } from 'tap'

const STORE_WAIT_MS = 5000

import type { RedisConnectionOptions } from '../../../../src/replicas/options.ts'
import { type Fault, startFaultProxy } from '../../../faults/proxy.ts'
import { eventually } from '../../../support/eventually.ts'
import type { RedisServer } from '../../../support/redis.ts'
import { entry } from './contract.ts'
import { type Replica, type ReplicaOptions, replica } from './replicas.ts'

export const TAG = 'agent:001'
const TAGS = ['cache', TAG]

/** `done`: acknowledged. `refused`: not sent. `unconfirmed`: sent, but its invalidation is not confirmed. */
export type WriteOutcome = 'done' | 'refused' | 'unconfirmed'

export interface LinkedReplica extends Replica {
  /** Applies a fault to the links of this replica. */
  set(fault: Fault): Promise<void>
  /** Resolves to what the client of the write receives. `during` runs between the fence and its end. */
  write(during?: () => Promise<void>, ms?: number): Promise<WriteOutcome>
  read(): Promise<number>
}

export interface World {
  readonly writer: LinkedReplica
  readonly reader: LinkedReplica
  /** Writes that the upstream has received. */
  sent(): number
  /** Reads that were older than they may be, as text. */
  readonly stale: readonly string[]
  /** Number of reads that the cache has answered. */
  hits(): number
  /** Reads through the reader all the time while `run` runs, and for a while afterwards. */
  readMeanwhile<Value>(run: () => Promise<Value>): Promise<Value>
  /** Resolves when no write fence is left, and the reader serves the current value from the cache again. */
  recovered(): Promise<void>
}

/** The upstream answers reads and writes after this time. */
const UPSTREAM_MS = 5

/** `redis`: a server behind links that may get faults, or sentinels or a cluster without. */
export async function startWorld(
  t: Test,
  redis: RedisServer | RedisConnectionOptions,
  options: ReplicaOptions = {},
): Promise<World> {
  const upstream = { value: 0, sent: 0 }
  /** The newest value whose write was answered. */
  let answered = 0
  let hits = 0
  const stale: string[] = []

  const open = async (name: string): Promise<LinkedReplica> => {
    const proxy = 'port' in redis ? await startFaultProxy(redis.port) : undefined
    t.teardown(() => proxy?.close())
    const target = 'port' in redis ? { url: `redis://127.0.0.1:${proxy?.port}` } : redis
    const opened = await replica(t, target, options)
    const { store } = opened
    const check = (value: number, floor: number, how: string) => {
      if (value < floor) stale.push(`${name} ${how}: ${value} instead of ${floor}`)
      return value
    }
    return {
      ...opened,
      set: async (fault) => proxy?.set(fault),
      async write(during = async () => {}, ms = STORE_WAIT_MS) {
        const fence = await store.fence([TAG], ms)
        if (fence.state === 'refused') return 'refused'
        upstream.sent += 1
        await pause(UPSTREAM_MS)
        upstream.value += 1
        const { value } = upstream
        await during()
        const isLifted = await fence.lift([], ms)
        answered = Math.max(answered, value)
        return (isLifted as unknown) !== false ? 'done' : 'unconfirmed'
      },
      async read() {
        const floor = answered
        const lookup = await store.lookup('k', TAGS)
        if (lookup.kind === 'hit') {
          hits += 1
          return check(Number(lookup.response.body.toString()), floor, lookup.isLocal ? 'local hit' : 'hit')
        }
        const { value } = upstream
        await pause(UPSTREAM_MS)
        if (lookup.kind === 'miss') await store.store(entry(`${value}`, lookup.epochs, { tags: TAGS }))
        return check(value, floor, lookup.kind)
      },
    }
  }

  const [writer, reader] = [await open('writer'), await open('reader')]
  return {
    writer,
    reader,
    sent: () => upstream.sent,
    stale,
    hits: () => hits,
    async readMeanwhile(run) {
      let isRunning = true
      const reading = (async () => {
        while (isRunning) {
          await Promise.all([reader.read(), writer.read()])
          await pause(1)
        }
      })()
      try {
        return await run()
      } finally {
        isRunning = false
        await reading
        for (let more = 0; more < 5; more += 1) await reader.read()
      }
    },
    async recovered() {
      await eventually(async () => {
        await reader.read()
        const lookup = await reader.store.lookup('k', TAGS)
        return lookup.kind === 'hit' && Number(lookup.response.body.toString()) === upstream.value
      })
    },
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
