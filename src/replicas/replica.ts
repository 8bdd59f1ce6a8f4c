/**
 * This process as one of the replicas that share a Redis: its id, its three connections, its subscription, its
 * heartbeat, and what it publishes of itself. Cache, access and console all use this one object.
 */
import { randomUUID } from 'node:crypto'
import type { RedisStepEvent } from '../core/events.ts'
import { ownText, parseJson } from '../core/values.ts'
import { RedisConnection } from './connection.ts'
import { Heartbeat } from './heartbeat.ts'
import {
  DEFAULT_TIMES,
  type OnStoreEvent,
  type RedisConnectionOptions,
  type RedisTimes,
  redisChannels,
  redisKeys,
} from './options.ts'
import { RedisContact } from './redis-contact.ts'
import { NOW, script } from './scripts.ts'
import { TurnEnd } from './turn-end.ts'
import { WrongTypes } from './wrong-types.ts'

export interface RedisReplicaOptions {
  readonly redis: RedisConnectionOptions
  readonly times: Pick<RedisTimes, 'commandTimeout'> & Partial<RedisTimes>
  /** Returns the milliseconds of a monotonic clock. */
  readonly elapsed?: () => number
  readonly onEvent?: OnStoreEvent
  /** Called after each command. */
  readonly onStep?: (step: RedisStepEvent) => void
}

interface ReplicaDescription {
  readonly text: string
  /** Milliseconds since it was published. */
  readonly ago: number
}

/** Milliseconds after which the description of a replica is removed. */
const DESCRIPTION_LIFETIME_MS = 10_000
const MAX_DESCRIPTIONS = 100
/** A description may be long, and no request waits for it: its time limit in command timeouts. */
const DESCRIPTION_TIMEOUTS = 5

/**
 * Publishes a description and returns those of the other replicas, each with its age in milliseconds.
 * KEYS: ids by time of publication, descriptions by id. ARGV: id, description, lifetime, maximum number.
 */
const EXCHANGE_DESCRIPTIONS = script(
  NOW,
  `
local expired = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[3], 'LIMIT', 0, 64)
if #expired > 0 then
  redis.call('ZREM', KEYS[1], unpack(expired))
  redis.call('HDEL', KEYS[2], unpack(expired))
end
redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
for at = 1, 2 do redis.call('PEXPIRE', KEYS[at], 6 * ARGV[3]) end
local ids = redis.call('ZRANGEBYSCORE', KEYS[1], now - ARGV[3], '+inf', 'WITHSCORES', 'LIMIT', 0, ARGV[4])
local others = {}
for at = 1, #ids, 2 do
  if ids[at] ~= ARGV[1] then
    others[#others + 1] = redis.call('HGET', KEYS[2], ids[at]) or ''
    others[#others + 1] = now - ids[at + 1]
  end
end
return others`,
)

/** Removes the description of a replica. KEYS: as above. ARGV: id. */
const WITHDRAW_DESCRIPTION = script(`
redis.call('ZREM', KEYS[1], ARGV[1])
return redis.call('HDEL', KEYS[2], ARGV[1])`)

export class RedisReplica {
  readonly id = randomUUID()
  readonly times: RedisTimes
  readonly elapsed: () => number
  /** Epochs, short entries, heartbeats, locks and counters: short commands that requests wait for. */
  readonly commands: RedisConnection
  /** Long entries, new ones, index pages and descriptions: a large one must not delay the commands. */
  readonly bodies: RedisConnection
  /** Whether this replica may use Redis. */
  readonly contact: RedisContact
  readonly heartbeat: Heartbeat
  readonly turnEnd = new TurnEnd()
  readonly #subscriber: RedisConnection
  readonly #listeners = new Map<string, ((message: string) => void)[]>()
  #started: Promise<void> | undefined

  constructor(options: RedisReplicaOptions) {
    const times = { ...DEFAULT_TIMES, ...options.times }
    const onEvent = options.onEvent ?? (() => {})
    this.times = times
    this.elapsed = options.elapsed ?? (() => performance.now())
    const onError = (error: unknown) => void wrongTypes.repair(error)
    const connect = () => new RedisConnection(options.redis, times, options.onStep, onError, this.turnEnd)
    this.commands = connect()
    this.bodies = connect()
    this.#subscriber = connect()
    const { commands: connection, elapsed } = this
    this.contact = new RedisContact({ connection, times, elapsed, onEvent, confirm: () => this.heartbeat.confirm() })
    this.heartbeat = new Heartbeat({
      connection,
      contact: this.contact,
      replica: this.id,
      times,
      elapsed,
      onSilence: () => this.#subscriber.reconnect(),
    })
    const wrongTypes = new WrongTypes({ connection, timeout: times.bulkTimeout, elapsed, onEvent })
  }

  /** Calls `listener` with each message of a channel. Must be called before `start`: no message may be missed. */
  subscribe(channel: string, listener: (message: string) => void): void {
    if (this.#started !== undefined) throw new Error(`subscription to ${channel} after the start`)
    this.#listeners.set(channel, [...(this.#listeners.get(channel) ?? []), listener])
  }

  /** Connects and subscribes. Resolves when Redis is reachable, at the latest after `bulkTimeout`. Runs once. */
  start(): Promise<void> {
    this.#started ??= this.#start()
    return this.#started
  }

  /** Publishes a description and returns those of the others. Undefined: Redis is unreachable. */
  async exchangeDescriptions(text: string): Promise<readonly ReplicaDescription[] | undefined> {
    const args = [this.id, text, DESCRIPTION_LIFETIME_MS, MAX_DESCRIPTIONS]
    const reply = await this.bodies.runScript<(string | number)[]>(
      EXCHANGE_DESCRIPTIONS,
      redisKeys.descriptions,
      args,
      DESCRIPTION_TIMEOUTS * this.times.commandTimeout,
    )
    if (!reply.ok) return undefined
    const { value } = reply
    return value.flatMap((each, at) => (at % 2 === 0 ? [{ text: String(each), ago: Number(value[at + 1]) }] : []))
  }

  /** Removes this replica from the registry, so that writers do not wait for it, and its description. Closes the connections. */
  async close(): Promise<void> {
    const { commandTimeout } = this.times
    await this.heartbeat.close()
    await this.bodies.runScript(WITHDRAW_DESCRIPTION, redisKeys.descriptions, [this.id], commandTimeout)
    for (const connection of [this.commands, this.bodies, this.#subscriber]) connection.close()
  }

  async #start(): Promise<void> {
    const { client } = this.#subscriber
    const own = redisChannels.replica(this.id)
    const channels = new Set([own, ...this.#listeners.keys()])
    client.on('message', (channel: string, message: string) => {
      for (const listener of this.#listeners.get(channel) ?? []) listener(message)
      if (channel !== own) return
      // Last: a message that shows a gap must have cleared the known epochs before it extends the lease.
      const nonce = ownText(parseJson(message), 'n')
      if (nonce !== undefined) this.heartbeat.receive(nonce)
    })
    // After each connection: ioredis does not resubscribe if the first connection failed.
    this.#subscriber.onReady(() => {
      client.subscribe(...channels).then(
        () => this.heartbeat.sendNow(),
        () => {},
      )
    })
    for (const connection of [this.commands, this.bodies, this.#subscriber]) connection.open()
    await Promise.all([this.heartbeat.start(), this.bodies.waitUntilReady(this.times.bulkTimeout)])
  }
}
