/** Connections to Redis that fail at once instead of queueing. The caller decides what an unreachable Redis means. */
import { Cluster, Redis } from 'ioredis'
import type { RedisStepEvent } from '../core/events.ts'
import { withTimeout } from '../core/timing.ts'
import { createClient, type RedisClient, startReplyTimer } from './client.ts'
import type { RedisConnectionOptions, RedisTimes } from './options.ts'
import type { Script } from './scripts.ts'
import { TurnEnd } from './turn-end.ts'

/** The outcome of a command: commands never reject. */
export type RedisReply<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly error: string }

/** The reply of a command that timed out. */
export const TIMED_OUT: RedisReply<never> = { ok: false, error: 'timed out' }

/** Milliseconds after which a connection without a reply to its first commands counts as one that is not ready. */
const NOT_READY_MS = 300

/** A connection that `open` establishes and keeps, and commands over it, each with a time limit. */
export class RedisConnection {
  readonly client: RedisClient
  /** The client. Both kinds emit the same events, but the types of `on` differ. */
  readonly #events: NodeJS.EventEmitter
  readonly #onStep: ((step: RedisStepEvent) => void) | undefined
  readonly #onError: (error: unknown) => void
  readonly #turnEnd: TurnEnd
  #lastError = 'not connected'
  #connectedAt = 0

  /**
   * `onStep`: called after each command. `onError`: called with each error that Redis replies. `turnEnd`: of all connections
   * of the replica.
   */
  constructor(
    target: RedisConnectionOptions,
    times: RedisTimes,
    onStep?: (step: RedisStepEvent) => void,
    onError: (error: unknown) => void = () => {},
    turnEnd = new TurnEnd(),
  ) {
    const client = createClient(target, times)
    this.client = client
    this.#events = client
    this.#onStep = onStep
    this.#onError = onError
    this.#turnEnd = turnEnd
    this.#events.on('error', (error: Error) => {
      this.#lastError = error.message
    })
    this.#events.on('connect', () => {
      this.#connectedAt = performance.now()
    })
  }

  /** Why there is no connection, as far as it is known. */
  get lastError(): string {
    // ioredis reports no error while it waits for a Redis that loads its data.
    const isWaiting = this.client.status === 'connect' && performance.now() - this.#connectedAt > NOT_READY_MS
    return isWaiting ? 'connected, but Redis is not ready' : this.#lastError
  }

  get isReady(): boolean {
    return this.client.status === 'ready'
  }

  /** The servers that store data; more than one in a Redis Cluster. */
  get primaries(): readonly Redis[] {
    return this.client instanceof Cluster ? this.client.nodes('master') : [this.client]
  }

  /** Connects now, and again whenever the connection is lost. Errors show in the commands. */
  open(): void {
    this.client.connect().catch(() => {})
  }

  /** Resolves when there is a connection, at the latest after `ms` milliseconds. */
  async waitUntilReady(ms: number): Promise<void> {
    if (this.isReady) return
    await withTimeout(new Promise((resolve) => this.#events.once('ready', resolve)), ms, undefined)
  }

  /** Sends commands. Fails at once without a connection, and after `ms` milliseconds in any case. */
  send<Value>(ms: number, run: (client: Redis) => Promise<Value>): Promise<RedisReply<Value>> {
    if (!this.isReady) {
      this.#onStep?.({ outcome: 'unreachable', ms: 0 })
      return Promise.resolve({ ok: false, error: this.lastError })
    }
    if (this.client instanceof Redis && this.client.stream !== undefined) this.#turnEnd.writeOnce(this.client.stream)
    // Cluster and Redis have the same commands, but the compiler cannot unite their overloads.
    return this.#replyOf(run(this.client as Redis), ms)
  }

  /** `ms`: time limit in milliseconds, without the time in which this process could not read replies. */
  #replyOf<Value>(command: Promise<Value>, ms: number): Promise<RedisReply<Value>> {
    const start = performance.now()
    return new Promise((resolve) => {
      let hasEnded = false
      const end = (reply: RedisReply<Value>, outcome: RedisStepEvent['outcome']) => {
        if (hasEnded) return
        hasEnded = true
        stop()
        resolve(reply)
        this.#onStep?.({ outcome, ms: performance.now() - start })
      }
      const stop = startReplyTimer(ms, () => end(TIMED_OUT, 'timeout'))
      command.then(
        (value) => end({ ok: true, value }, 'done'),
        (error: unknown) => {
          this.#onError(error)
          end({ ok: false, error: error instanceof Error ? error.message : String(error) }, 'failed')
        },
      )
    })
  }

  /** Runs a script by its SHA, or by its text if Redis does not have it yet. `how`: `callBuffer` for Buffers in the reply. */
  runScript<Value>(
    script: Script,
    keys: readonly string[],
    args: readonly (string | number | Buffer)[],
    ms: number,
    how: 'call' | 'callBuffer' = 'call',
  ) {
    return this.send(ms, (client) => {
      const run = (name: string, text: string) => client[how](name, text, keys.length, ...keys, ...args)
      return run('evalsha', script.sha).catch((error: unknown) => {
        if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error
        return run('eval', script.lua)
      })
    }) as Promise<RedisReply<Value>>
  }

  /** Calls `listener` whenever a connection is established. */
  onReady(listener: () => void): void {
    this.#events.on('ready', listener)
  }

  reconnect(): void {
    if (this.client instanceof Cluster) for (const node of this.client.nodes()) node.disconnect(true)
    else this.client.disconnect(true)
  }

  close(): void {
    this.client.disconnect()
  }
}
