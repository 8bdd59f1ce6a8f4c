/** Locks across replicas: a lease with a token. The holder renews it; the others wait for its release or its end. */

import { randomUUID } from 'node:crypto'
import type { ClientPresence } from '../../core/presence.ts'
import { growingLru } from '../../core/recently-used.ts'
import type { RedisConnection } from '../../replicas/connection.ts'
import { redisChannels, redisKeys } from '../../replicas/options.ts'
import type { RedisReplica } from '../../replicas/replica.ts'
import { script } from '../../replicas/scripts.ts'
import { onInteractive } from '../shared-presence.ts'
import type { Lock } from './contract.ts'

/** KEYS: lock, an entry if any. ARGV: token, milliseconds. `missing`: the token holds the lock now, and there is no entry. */
const ACQUIRE_LOCK = script(`
if not redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2], 'NX') then return 'refused' end
return KEYS[2] and redis.call('PTTL', KEYS[2]) == -2 and 'missing' or 'held'`)

/** KEYS: lock. ARGV: token, milliseconds. Returns 1 if this token holds the lock. */
const RENEW_LOCK = script(`
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])`)

/** For scripts. `name`: of the lock. */
export const RELEASE = `
local function release(key, token, channel, name)
  if redis.call('GET', key) == token then redis.call('DEL', key) end
  return redis.call('PUBLISH', channel, name)
end`

/** KEYS: lock. ARGV: token, channel, name of the lock. */
const RELEASE_LOCK = script(RELEASE, 'return release(KEYS[1], unpack(ARGV))')

/** Upper limit of the pause between two checks whether a lock still exists, in milliseconds. */
const MAX_CHECK_INTERVAL_MS = 500

/** More than are released within the time limits of a stall. While a part of a Redis Cluster fails, no release there is confirmed. */
const MAX_UNCONFIRMED = 1_000

/** In front of the name of a lock whose fetch an interactive client awaits. Replicas of earlier versions ignore the message. */
const AWAITED = 'awaited '

/** If Redis is unreachable, each replica is alone. */
const UNSHARED: Lock = { held: true, release: async () => {} }

interface FetchLockOptions {
  /** The key of the entry in Redis, in the slot of the lock. `isMissing` shows whether it is absent. */
  readonly entry?: string | undefined
  /** As of `acquireFetchLock`. */
  readonly presence?: ClientPresence | undefined
}

/** Called when a replica releases the lock, and when an interactive client of another replica awaits it (`isAwaited`). */
type Listener = (isAwaited: boolean) => void

export class Locks {
  readonly #replica: RedisReplica
  readonly #connection: RedisConnection
  /** By name of the lock. An emitter takes several times as long to add and remove a name. */
  readonly #listeners = new Map<string, Set<Listener>>()
  readonly #renewals = new Set<NodeJS.Timeout>()
  /** The names of locks whose release Redis has not confirmed, by token. */
  readonly #unconfirmed = growingLru<string, string>(MAX_UNCONFIRMED)

  /** `connection`: of the commands of these locks. */
  constructor(replica: RedisReplica, connection: RedisConnection) {
    this.#replica = replica
    this.#connection = connection
    replica.heartbeat.onBeat(() => this.#releaseUnconfirmed())
  }

  /** `lease`: milliseconds after which a holder that did not renew the lock counts as dead. */
  async acquire(name: string, lease: number, { entry, presence }: FetchLockOptions = {}): Promise<Lock> {
    const { contact, times } = this.#replica
    if (!contact.isTrusted) return UNSHARED
    // Listen before trying: the lock may be released, or awaited, between the reply and the first listener.
    let end = () => {}
    const ended = new Promise<void>((resolve) => {
      end = resolve
    })
    let isWaiting = false
    const stopListening = this.#listen(name, (isAwaited) => {
      if (!isAwaited) end()
      else if (!isWaiting) presence?.addInteractive?.()
    })
    const token = randomUUID()
    const key = redisKeys.lock(name)
    const reply = await this.#connection.runScript<'refused' | 'missing' | 'held'>(
      ACQUIRE_LOCK,
      entry === undefined ? [key] : [key, entry],
      [token, Math.ceil(lease)],
      times.commandTimeout,
    )
    contact.reportReply(reply)
    if (reply.ok && reply.value === 'refused') {
      isWaiting = true
      const checks = this.#checkRegularly(name, end, lease)
      const message = [redisChannels.locks, AWAITED + name] as const
      const publish = () => void this.#connection.send(times.bulkTimeout, (client) => client.publish(...message))
      const endWatch = onInteractive(presence, publish)
      const settle = () => {
        stopListening()
        clearInterval(checks)
        endWatch?.()
      }
      return { held: false, settled: ended.then(settle) }
    }
    if (reply.ok) return this.#hold(name, token, lease, { entry, isMissing: reply.value === 'missing' }, stopListening)
    stopListening()
    void this.#release(name, token)
    return UNSHARED
  }

  /** Takes a message of the channel of locks: the name of one that was released, or that a client awaits one. */
  receive(message: string): void {
    const isAwaited = message.startsWith(AWAITED)
    const name = isAwaited ? message.slice(AWAITED.length) : message
    for (const listener of this.#listeners.get(name) ?? []) listener(isAwaited)
  }

  /** Returns a function that ends the listener. */
  #listen(name: string, listener: Listener): () => void {
    const listeners = this.#listeners.get(name) ?? new Set()
    this.#listeners.set(name, listeners.add(listener))
    return () => {
      if (listeners.delete(listener) && listeners.size === 0) this.#listeners.delete(name)
    }
  }

  close(): void {
    for (const timer of this.#renewals) clearInterval(timer)
    for (const name of this.#listeners.keys()) this.receive(name)
  }

  #hold(
    name: string,
    token: string,
    lease: number,
    { entry, isMissing }: { readonly entry: string | undefined; readonly isMissing: boolean },
    stopListening: () => void,
  ): Lock {
    const { times } = this.#replica
    const key = redisKeys.lock(name)
    const renew = () => this.#connection.runScript(RENEW_LOCK, [key], [token, Math.ceil(lease)], times.bulkTimeout)
    const timer = setInterval(() => void renew(), lease / 3)
    timer.unref()
    this.#renewals.add(timer)
    const end = () => {
      clearInterval(timer)
      stopListening()
      return this.#renewals.delete(timer)
    }
    const release = async () => {
      if (end()) await this.#release(name, token)
    }
    return { held: true, isMissing, shared: { key, token, name, entry, end }, release }
  }

  async #release(name: string, token: string): Promise<void> {
    const args = [token, redisChannels.locks, name]
    const { bulkTimeout } = this.#replica.times
    const { ok } = await this.#connection.runScript(RELEASE_LOCK, [redisKeys.lock(name)], args, bulkTimeout)
    if (ok) this.#unconfirmed.delete(token)
    else this.#unconfirmed.set(token, name)
  }

  /**
   * A Redis that stalled carries out what it had received. If the connection was closed meanwhile, it carries out a part only: it
   * may take a lock and drop the release behind it.
   */
  #releaseUnconfirmed(): void {
    if (!this.#replica.contact.isUp) return
    for (const [token, name] of this.#unconfirmed) void this.#release(name, token)
  }

  /** Calls `end` when the lock is gone: the message may be lost, and a holder whose process ended sends none. */
  #checkRegularly(name: string, end: () => void, lease: number): NodeJS.Timeout {
    const { contact, times } = this.#replica
    const check = async () => {
      // SET does not fail for a value of another type, GET does: it is repaired then, and the wait ends.
      const reply = await this.#connection.send(times.commandTimeout, (client) => client.get(redisKeys.lock(name)))
      contact.reportReply(reply)
      // One slow reply is no evidence about the lock.
      if (reply.ok ? reply.value === null : !contact.isTrusted) end()
    }
    const interval = Math.min(MAX_CHECK_INTERVAL_MS, Math.max(times.commandTimeout, lease / 8))
    return setInterval(() => void check(), interval)
  }
}
