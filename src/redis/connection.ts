import { Cluster, Redis, type RedisOptions } from 'ioredis'
import type { RedisStepEvent } from '../core/events.ts'
import type { RedisPlace, Times } from './options.ts'
import type { Script } from './scripts.ts'

/** Steps over one client, each bounded in time and ended by a value. It knows nothing of what the steps mean. */

export type Reply<Value> = { readonly ok: true; readonly value: Value } | { readonly ok: false; readonly fault: string }

const LATE: Reply<never> = { ok: false, fault: 'late' }

export class Link {
  readonly client: Client
  readonly #onStep: ((step: RedisStepEvent) => void) | undefined
  #fault = 'not connected'

  constructor(client: Client, onStep?: (step: RedisStepEvent) => void) {
    this.client = client
    this.#onStep = onStep
    // The two kinds of client share this event, but not the type of `on`.
    const events: NodeJS.EventEmitter = client
    events.on('error', (error: Error) => {
      this.#fault = error.message
    })
  }

  /** Why there is no connection, as far as it is known. */
  get fault(): string {
    return this.#fault
  }

  get ready(): boolean {
    return this.client.status === 'ready'
  }

  /** Resolves when there is a connection, or after so many milliseconds without one. */
  connected(time: number): Promise<void> {
    if (this.ready) return Promise.resolve()
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, time)
      const ready = () => {
        clearTimeout(timer)
        resolve()
      }
      // The two kinds of client share this event, but not the type of `once`.
      if (this.client instanceof Cluster) this.client.once('ready', ready)
      else this.client.once('ready', ready)
    })
  }

  /** Runs a step; fails at once when there is no connection, and after `time` milliseconds in any case. */
  step<Value>(time: number, run: (client: Redis) => Promise<Value>): Promise<Reply<Value>> {
    if (!this.ready) {
      this.#onStep?.({ outcome: 'away', ms: 0 })
      return Promise.resolve({ ok: false, fault: this.#fault })
    }
    // Cluster and Redis have the same commands; the union of their overloads is beyond the compiler.
    const reply = within(time, run(this.client as Redis))
    if (this.#onStep !== undefined) tellOf(reply, this.#onStep)
    return reply
  }

  /** A script by its SHA, by its text where Redis does not know it yet. */
  run<Value>(script: Script, keys: readonly string[], args: readonly (string | number | Buffer)[], time: number) {
    return this.step(time, (client) => evaluate(client, script, keys, args) as Promise<Value>)
  }

  /** As `run`, with Buffers in the reply. */
  runForBytes<Value>(script: Script, keys: readonly string[], args: readonly (string | number)[], time: number) {
    return this.step(time, (client) => {
      const shape = [keys.length, ...keys, ...args] as const
      return client
        .callBuffer('EVALSHA', script.sha, ...shape)
        .catch((error: Error) => byText(error, () => client.callBuffer('EVAL', script.lua, ...shape))) as Promise<Value>
    })
  }

  /** Opens the connection anew. */
  reconnect(): void {
    if (this.client instanceof Cluster) for (const node of this.client.nodes()) node.disconnect(true)
    else this.client.disconnect(true)
  }

  close(): void {
    this.client.disconnect()
  }
}

function tellOf(reply: Promise<Reply<unknown>>, onStep: (step: RedisStepEvent) => void): void {
  const began = performance.now()
  void reply.then((came) => {
    const outcome = came.ok ? 'done' : came === LATE ? 'late' : 'failed'
    onStep({ outcome, ms: performance.now() - began })
  })
}

function evaluate(client: Redis, script: Script, keys: readonly string[], args: readonly (string | number | Buffer)[]) {
  const shape = [keys.length, ...keys, ...args] as const
  return client
    .evalsha(script.sha, ...shape)
    .catch((error: Error) => byText(error, () => client.eval(script.lua, ...shape)))
}

function byText(error: Error, again: () => Promise<unknown>): Promise<unknown> {
  return error.message.startsWith('NOSCRIPT') ? again() : Promise.reject(error)
}

function within<Value>(time: number, promise: Promise<Value>): Promise<Reply<Value>> {
  return new Promise((resolve) => {
    const late = () => resolve(LATE)
    // After a block of the event loop the timer comes before the reply that is already in the socket: hear that first.
    const timer = setTimeout(() => setImmediate(late), time)
    promise.then(
      (value) => {
        clearTimeout(timer)
        resolve({ ok: true, value })
      },
      (error: unknown) => {
        clearTimeout(timer)
        resolve({ ok: false, fault: error instanceof Error ? error.message : String(error) })
      },
    )
  })
}

/** Connections that fail at once instead of queueing: whoever asks decides what an absent Redis means. */

export type Client = Redis | Cluster

/** A client that connects by itself, again and again; errors show in commands only. */
export function connect(place: RedisPlace, times: Times): Client {
  const client = open(place, times)
  // Without a listener, a failed connection would end the process.
  client.on('error', () => {})
  if (client instanceof Redis) hearLateErrors(client)
  else client.on('+node', hearLateErrors)
  return client
}

/**
 * A TLS connection may fail twice: its certificate is refused, then the server's alert arrives. ioredis hears a socket
 * once, and the second error would end the process.
 */
function hearLateErrors(client: Redis): void {
  const listen = () => {
    if (client.stream?.listeners('error').includes(ignore) === false) client.stream.on('error', ignore)
  }
  // The socket is there only after this event; where sentinels are asked first, it is there by its first error.
  client.on('connecting', () => setImmediate(listen))
  client.on('error', listen)
  if (client.status === 'connecting') setImmediate(listen)
}

function ignore(): void {}

function open(place: RedisPlace, times: Times): Client {
  const base = shared(place, times)
  if (place.cluster !== undefined && place.cluster.length > 0) {
    const cluster = new Cluster([...place.cluster], {
      redisOptions: base,
      enableOfflineQueue: false,
      clusterRetryStrategy: () => times.probe,
      // A master that restarts in place keeps its slots: nothing would say MOVED.
      clusterNodeRetryStrategy: () => times.probe,
      // A node that is being connected refuses what is sent meanwhile; the store's own time-out bounds the retries.
      retryDelayOnFailover: 10,
      retryDelayOnClusterDown: 50,
      slotsRefreshTimeout: times.slow,
      slotsRefreshInterval: 2000,
    })
    // Connected now, not with the first entry that lies there. It rejects when it is under way already.
    return cluster.on('+node', (node: Redis) => void node.connect().catch(() => {}))
  }
  const options = { ...base, enableOfflineQueue: false, retryStrategy: () => times.probe }
  if (place.sentinels !== undefined && place.sentinels.length > 0) {
    const tls = place.tls === undefined ? {} : { sentinelTLS: { ...place.tls }, enableTLSForSentinelMode: true }
    return new Redis({
      ...options,
      ...tls,
      sentinels: [...place.sentinels],
      name: place.name ?? 'mymaster',
      sentinelRetryStrategy: () => times.probe,
      sentinelCommandTimeout: times.slow,
    })
  }
  const url = place.url ?? 'redis://127.0.0.1:6379'
  return url.startsWith('unix://') ? new Redis({ ...options, path: url.slice(7) }) : new Redis(url, options)
}

function shared(place: RedisPlace, times: Times) {
  return {
    maxRetriesPerRequest: 0,
    connectTimeout: times.slow,
    // A connection that a black hole swallowed would else be waited for as long as TCP does: minutes.
    socketTimeout: times.stuck,
    autoResendUnfulfilledCommands: false,
    disableClientInfo: true,
    // A demoted primary keeps its connections: only a new one finds the server that took its place.
    reconnectOnError: (error: Error) => /^(READONLY|MASTERDOWN)/.test(error.message),
    ...(place.username === undefined ? {} : { username: place.username }),
    ...(place.password === undefined ? {} : { password: place.password }),
    ...(place.tls === undefined ? {} : { tls: { ...place.tls } }),
  } satisfies RedisOptions
}
