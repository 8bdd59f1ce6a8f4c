/** Connections that fail at once instead of queueing: whoever asks decides what an absent Redis means. */
import { Cluster, Redis, type RedisOptions } from 'ioredis'
import type { RedisPlace, Times } from '../cache/stores/redis/options.ts'

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
