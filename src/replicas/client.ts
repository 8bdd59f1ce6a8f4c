/**
 * Creates clients of ioredis for a single server, Sentinel or Cluster, with the options that all of them need, and measures
 * the time of replies. Time limits measure Redis, not this process: while the event loop is blocked, for example by many
 * first requests after a start, replies are in the socket but cannot be read.
 */
import { Cluster, Redis, type RedisOptions } from 'ioredis'
import type { RedisConnectionOptions, RedisTimes } from './options.ts'

export type RedisClient = Redis | Cluster

/** Time between two requests for the slots of a cluster. */
const SLOTS_REFRESH_MS = 2000

/** Returns a client that reconnects by itself, sends nothing without a connection, and never ends the process. */
export function createClient(target: RedisConnectionOptions, times: RedisTimes): RedisClient {
  const client = clientOf(target, times)
  // Without a listener, a failed connection would end the process.
  client.on('error', () => {})
  const prepare = (each: Redis) => {
    ignoreLateErrors(each)
    const watch = createSilenceGuard(times.socketTimeout)
    // If packets are dropped silently, TCP alone would notice only after minutes. The `socketTimeout` of ioredis would
    // close the connection whenever this process is busy for long.
    each.on('connect', () => watch(each.stream))
  }
  if (client instanceof Redis) prepare(client)
  else client.on('+node', prepare)
  return client
}

/**
 * A TLS connection may fail twice: its certificate is rejected, then the alert of the server arrives. ioredis listens
 * to the first error of a socket only. Without this, the second one would end the process.
 */
function ignoreLateErrors(client: Redis): void {
  const listen = () => {
    if (client.stream?.listeners('error').includes(ignore) === false) client.stream.on('error', ignore)
  }
  // The socket exists only after this event. With sentinels, it exists by its first error.
  client.on('connecting', () => setImmediate(listen))
  client.on('error', listen)
}

function ignore(): void {}

function clientOf(target: RedisConnectionOptions, times: RedisTimes): RedisClient {
  const { retryInterval, bulkTimeout } = times
  const base = commonOptions(target, times)
  if (target.cluster !== undefined && target.cluster.length > 0) {
    const cluster = new Cluster([...target.cluster], {
      redisOptions: base,
      lazyConnect: true,
      enableOfflineQueue: false,
      clusterRetryStrategy: () => retryInterval,
      // A master that restarts in place keeps its slots: no MOVED reply would reveal the restart.
      clusterNodeRetryStrategy: () => retryInterval,
      // A node that is being connected rejects commands. The time limit of the command bounds these retries.
      retryDelayOnFailover: 10,
      retryDelayOnClusterDown: 50,
      slotsRefreshTimeout: bulkTimeout,
    })
    refreshSlots(cluster)
    // Connect now, not with the first command for this node. Rejects if it is connecting already.
    return cluster.on('+node', (node: Redis) => void node.connect().catch(() => {}))
  }
  const options = { ...base, lazyConnect: true, enableOfflineQueue: false, retryStrategy: () => retryInterval }
  if (target.sentinels !== undefined && target.sentinels.length > 0) {
    const tls = target.tls === undefined ? {} : { sentinelTLS: { ...target.tls }, enableTLSForSentinelMode: true }
    return new Redis({
      ...options,
      ...tls,
      sentinels: [...target.sentinels],
      name: target.name ?? 'mymaster',
      sentinelRetryStrategy: () => retryInterval,
      sentinelCommandTimeout: bulkTimeout,
    })
  }
  const url = target.url ?? 'redis://127.0.0.1:6379'
  return url.startsWith('unix://') ? new Redis({ ...options, path: url.slice(7) }) : new Redis(url, options)
}

/**
 * Asks again and again which master has which slots. The `slotsRefreshInterval` of ioredis would start its timer again
 * if the client is closed during a request: the process would never end.
 */
function refreshSlots(cluster: Cluster): void {
  const timer = setInterval(() => {
    if (cluster.status === 'ready') cluster.refreshSlotsCache()
  }, SLOTS_REFRESH_MS).unref()
  cluster.once('end', () => clearInterval(timer))
}

function commonOptions(target: RedisConnectionOptions, times: RedisTimes) {
  return {
    maxRetriesPerRequest: 0,
    connectTimeout: times.bulkTimeout,
    // The estimate of a Redis that loads its data may be long, and is often wrong.
    maxLoadingRetryTime: times.bulkTimeout,
    autoResendUnfulfilledCommands: false,
    // ioredis does not handle the rejection of its SUBSCRIBE if the connection is lost just then: the process would
    // end. The replica subscribes after each connection anyway.
    autoResubscribe: false,
    disableClientInfo: true,
    // A demoted primary does not close its connections. Only a new connection finds the new primary.
    reconnectOnError: (error: Error) => /^(READONLY|MASTERDOWN)/.test(error.message),
    ...(target.username === undefined ? {} : { username: target.username }),
    ...(target.password === undefined ? {} : { password: target.password }),
    ...(target.tls === undefined ? {} : { tls: { ...target.tls } }),
  } satisfies RedisOptions
}

/** A time limit is this number of timers in a row. A block of the event loop delays one of them and uses up no other. */
const SLICES = 5

/** Calls `onTimeout` after `ms` milliseconds in which replies could be read. Returns a function that stops the timer. */
export function startReplyTimer(ms: number, onTimeout: () => void): () => void {
  let slices = SLICES
  let isStopped = false
  let timer = setTimeout(endSlice, ms / SLICES)
  return () => {
    isStopped = true
    clearTimeout(timer)
  }

  function endSlice() {
    slices -= 1
    if (slices > 0) timer = setTimeout(endSlice, ms / SLICES)
    // Timers run before I/O: process the replies that are already there.
    else setImmediate(() => isStopped || onTimeout())
  }
}

/** Connections in a row that may prove to be silent before the time limit is at its longest, 2^n times the first. */
const MAX_DOUBLINGS = 2

/**
 * Returns a function that destroys a socket if data was written to it and nothing arrives for `shortest` milliseconds. A slow
 * link looks like a dead one at first, and must not be cut again and again: each cut doubles the time for the next
 * socket, until the first reply on one of them is prompt.
 */
function createSilenceGuard(shortest: number): (socket: Redis['stream']) => void {
  let limit = shortest
  return (socket) => {
    const ms = limit
    let slices = 0
    const first = socket.bytesRead
    let received = first
    /** What had been written when data last arrived. */
    let written = socket.bytesWritten
    let silentSlices = 0
    const timer = setInterval(() => {
      const { bytesRead, bytesWritten } = socket
      slices += 1
      if (slices === 1 && bytesRead > first) limit = shortest
      const isSilent = bytesRead === received && bytesWritten !== written
      silentSlices = isSilent ? silentSlices + 1 : 0
      if (!isSilent) {
        received = bytesRead
        written = bytesWritten
      } else if (silentSlices > SLICES) {
        limit = Math.min(2 * limit, shortest * 2 ** MAX_DOUBLINGS)
        socket.destroy(new Error(`no data from Redis for ${ms} ms`))
      }
    }, ms / SLICES)
    timer.unref()
    socket.once('close', () => clearInterval(timer))
  }
}
