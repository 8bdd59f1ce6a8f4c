/** Fetch locks across replicas: a lease with a token. The holder renews it; the others wait for its release or its end. */
import { createHash, randomUUID } from 'node:crypto'
import { EventEmitter } from 'node:events'
import type { TagEpochs } from '../../core/response.ts'
import { redisChannels, redisKeys } from '../../redis/options.ts'
import type { RedisReplica } from '../../redis/replica.ts'
import { script } from '../../redis/scripts.ts'
import type { FetchLock } from './contract.ts'

/** KEYS: lock. ARGV: token, milliseconds. Returns 1 if this token holds the lock. */
const RENEW_LOCK = script(`
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])`)

/** KEYS: lock. ARGV: token, channel, name of the lock. */
const RELEASE_LOCK = script(`
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
redis.call('PUBLISH', ARGV[2], ARGV[3])
return 1`)

/** Upper limit of the pause between two checks whether a lock still exists, in milliseconds. */
const MAX_CHECK_INTERVAL_MS = 500

/** If Redis is unreachable, fetch without a shared lock. */
const UNSHARED: FetchLock = { held: true, release: async () => {} }

export class FetchLocks {
  readonly #replica: RedisReplica
  /** The names of locks that were released. */
  readonly #releases = new EventEmitter().setMaxListeners(0)
  readonly #renewals = new Set<NodeJS.Timeout>()

  constructor(replica: RedisReplica) {
    this.#replica = replica
  }

  async acquire(key: string, epochs: TagEpochs, patience: number): Promise<FetchLock> {
    const { commands, heartbeat, times } = this.#replica
    if (!heartbeat.isTrusted) return UNSHARED
    const name = `${key}:${digest(epochs)}`
    // Listen before trying: the lock may be released between the reply and the first listener.
    let end = () => {}
    const ended = new Promise<void>((resolve) => {
      end = resolve
    })
    this.#releases.once(eventOf(name), end)
    const token = randomUUID()
    const reply = await commands.send(times.commandTimeout, (client) =>
      client.set(redisKeys.fetchLock(name), token, 'PX', Math.ceil(patience), 'NX'),
    )
    heartbeat.reportReply(reply)
    if (reply.ok && reply.value === null) {
      const checks = this.#checkRegularly(name, end, patience)
      return { held: false, settled: ended.then(() => clearInterval(checks)) }
    }
    this.#releases.off(eventOf(name), end)
    if (reply.ok) return this.#hold(name, token, patience)
    void this.#release(name, token)
    return UNSHARED
  }

  /** Takes the message that a lock was released. */
  released(name: string): void {
    this.#releases.emit(eventOf(name))
  }

  close(): void {
    for (const timer of this.#renewals) clearInterval(timer)
    for (const event of this.#releases.eventNames()) this.#releases.emit(event)
  }

  #hold(name: string, token: string, patience: number): FetchLock {
    const { commands, times } = this.#replica
    const key = redisKeys.fetchLock(name)
    const renew = () => commands.runScript(RENEW_LOCK, [key], [token, Math.ceil(patience)], times.bulkTimeout)
    const timer = setInterval(() => void renew(), patience / 3)
    timer.unref()
    this.#renewals.add(timer)
    return {
      held: true,
      release: async () => {
        clearInterval(timer)
        this.#renewals.delete(timer)
        await this.#release(name, token)
      },
    }
  }

  async #release(name: string, token: string): Promise<void> {
    const { commands, times } = this.#replica
    const args = [token, redisChannels.lockReleases, name]
    await commands.runScript(RELEASE_LOCK, [redisKeys.fetchLock(name)], args, times.bulkTimeout)
  }

  /** Calls `end` when the lock is gone: the message may be lost, and a holder whose process ended sends none. */
  #checkRegularly(name: string, end: () => void, patience: number): NodeJS.Timeout {
    const { commands, heartbeat, times } = this.#replica
    const check = async () => {
      // SET does not fail for a value of another type, GET does: it is repaired then, and the wait ends.
      const reply = await commands.send(times.commandTimeout, (client) => client.get(redisKeys.fetchLock(name)))
      heartbeat.reportReply(reply)
      // One slow reply is no evidence about the lock.
      if (reply.ok ? reply.value !== null : heartbeat.isTrusted) return
      this.#releases.off(eventOf(name), end)
      end()
    }
    const interval = Math.min(MAX_CHECK_INTERVAL_MS, Math.max(times.commandTimeout, patience / 8))
    return setInterval(() => void check(), interval)
  }
}

/** Another program may publish `error`, which an emitter throws without a listener. */
function eventOf(name: string): string {
  return `released ${name}`
}

/** The epochs are part of the name: a fetch that began before a write must not be joined after it. */
function digest({ generation, epochs }: TagEpochs): string {
  return createHash('sha256')
    .update(JSON.stringify([generation, ...epochs]))
    .digest('base64url')
    .slice(0, 22)
}
