/** Fetch locks across replicas: a lease with a token. The holder renews it; the others wait for its release or its end. */
import { createHash, randomUUID } from 'node:crypto'
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
  /** For each lock the functions that end a wait for it. */
  readonly #waits = new Map<string, Set<() => void>>()
  readonly #renewals = new Set<NodeJS.Timeout>()

  constructor(replica: RedisReplica) {
    this.#replica = replica
  }

  async acquire(key: string, epochs: TagEpochs, patience: number): Promise<FetchLock> {
    const { commands, heartbeat, times } = this.#replica
    if (!heartbeat.isTrusted) return UNSHARED
    const name = `${key}:${digest(epochs)}`
    // Listen before trying: the lock may be released between the reply and the first listener.
    const wait = this.#beginWait(name)
    const token = randomUUID()
    const reply = await commands.send(times.commandTimeout, (client) =>
      client.set(redisKeys.fetchLock(name), token, 'PX', Math.ceil(patience), 'NX'),
    )
    heartbeat.reportReply(reply)
    if (reply.ok && reply.value === null) return { held: false, settled: this.#waitForRelease(name, wait, patience) }
    wait.end()
    if (reply.ok) return this.#hold(name, token, patience)
    void this.#release(name, token)
    return UNSHARED
  }

  /** Takes the message that a lock was released. */
  released(name: string): void {
    for (const end of [...(this.#waits.get(name) ?? [])]) end()
  }

  close(): void {
    for (const timer of this.#renewals) clearInterval(timer)
    for (const name of [...this.#waits.keys()]) this.released(name)
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

  /** Checks the lock regularly as well: the message may be lost, and a holder whose process ended sends none. */
  async #waitForRelease(name: string, wait: Wait, patience: number): Promise<void> {
    const { commands, heartbeat, times } = this.#replica
    const check = async () => {
      // SET does not fail for a value of another type, GET does: it is repaired then, and the wait ends.
      const reply = await commands.send(times.commandTimeout, (client) => client.get(redisKeys.fetchLock(name)))
      heartbeat.reportReply(reply)
      // One slow reply is no evidence about the lock.
      if (reply.ok ? reply.value === null : !heartbeat.isTrusted) wait.end()
    }
    const interval = Math.min(MAX_CHECK_INTERVAL_MS, Math.max(times.commandTimeout, patience / 8))
    const timer = setInterval(() => void check(), interval)
    await wait.ended
    clearInterval(timer)
  }

  #beginWait(name: string): Wait {
    let resolve = () => {}
    const ended = new Promise<void>((done) => {
      resolve = done
    })
    const waits = this.#waits.get(name) ?? new Set()
    const end = () => {
      waits.delete(end)
      if (waits.size === 0 && this.#waits.get(name) === waits) this.#waits.delete(name)
      resolve()
    }
    this.#waits.set(name, waits.add(end))
    return { ended, end }
  }
}

interface Wait {
  readonly ended: Promise<void>
  end(): void
}

/** The epochs are part of the name: a fetch that began before a write must not be joined after it. */
function digest({ generation, epochs }: TagEpochs): string {
  return createHash('sha256')
    .update(JSON.stringify([generation, ...epochs]))
    .digest('base64url')
    .slice(0, 22)
}
