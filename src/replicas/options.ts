/** Where Redis is, how long its commands may take, and the names of all keys and channels. */
import type { StoreEvent } from '../core/events.ts'
import { WRITE_FENCE_LEASE_MS } from '../core/timing.ts'

/** One of `url`, `sentinels` and `cluster`. */
export interface RedisConnectionOptions {
  /** `redis://`, `rediss://`, or `unix://` and a path. */
  readonly url?: string
  readonly sentinels?: readonly RedisAddress[]
  /** Name of the primary in the sentinels' configuration. */
  readonly name?: string
  readonly cluster?: readonly RedisAddress[]
  readonly username?: string
  readonly password?: string
  /** Present: TLS to servers and sentinels. `ca` is PEM. */
  readonly tls?: { readonly ca?: string | Buffer }
}

interface RedisAddress {
  readonly host: string
  readonly port: number
}

/** Milliseconds. */
export interface RedisTimes {
  /** Time limit of a command that a read waits for. Reads do not use Redis while replies come later. */
  readonly commandTimeout: number
  /** How long the local tier may be served after a heartbeat was sent. */
  readonly lease: number
  readonly heartbeatInterval: number
  /** How long a write fence lasts if its replica does not renew it. */
  readonly fenceLease: number
  /** Pause between two attempts to reach an unreachable Redis. */
  readonly retryInterval: number
  /** Time limit of commands that no request waits for. */
  readonly bulkTimeout: number
  /** A connection on which nothing arrives for this time is opened again. More on a link that proves to be slow. */
  readonly socketTimeout: number
}

/** The times that are no settings. */
export const DEFAULT_TIMES: Omit<RedisTimes, 'commandTimeout'> = {
  lease: 2000,
  heartbeatInterval: 500,
  fenceLease: WRITE_FENCE_LEASE_MS,
  retryInterval: 100,
  bulkTimeout: 1000,
  socketTimeout: 3000,
}

/**
 * The keys of the edge. Keys with the same hash tag (in braces) are on the same node of a Redis Cluster. The names
 * that two versions use have the same meaning in both, so that replicas of both can run side by side.
 */
export const redisKeys = {
  /** Hash of tag epochs, write fences, the generation and the registry of replicas. */
  epochs: 'edge:{e}',
  /** With the version of its format: replicas of another version have their own entries. */
  entry: (key: string) => `edge:c:2:${key}`,
  /** One of the parts of a value that is too large for one entry. */
  part: (name: string) => `edge:p:${name}`,
  lock: (name: string) => `edge:l:${name}`,
  /** Sorted set of keys by expiry, hash of rows, hash of hit counts. */
  index: (group: string): [string, string, string] => [
    `edge:i:{${group}}`,
    `edge:i:{${group}}:rows`,
    `edge:i:{${group}}:hits`,
  ],
  /** Counters (login attempts, requests, calls to nodes), drains and revocations. One hash tag: scripts use several of them. */
  access: (name: string) => `edge:{a}:${name}`,
  /** Sorted set of replicas by time of publication, hash of their descriptions. */
  descriptions: ['edge:{o}:told', 'edge:{o}:lines'],
  /** The slots of a node, by holder. */
  slots: (node: string) => `edge:s:${node}`,
}

export const redisChannels = {
  /** Every increment of epochs: generation, sequence, writer, tags. */
  invalidations: 'edge:{e}:raised',
  /** What is addressed to one replica: its own heartbeats, and acknowledgements of its invalidations. */
  replica: (id: string) => `edge:{e}:to:${id}`,
  /** The names of locks that were released, and `awaited NAME` of those that an interactive client awaits. */
  locks: 'edge:{e}:settled',
  /** Entries that were replaced: the id of the replica, a space, the key. */
  replacements: 'edge:{e}:kept',
  /** New revocations: the id of the replica. */
  revocations: 'edge:{a}:revocations',
  /** Slots of nodes: who received one, and who waits for one. */
  slots: 'edge:{s}:slots',
}

/** `reason`: why Redis is unreachable, as Redis or the connection reports it; or the name of a key. */
export type OnStoreEvent = (event: StoreEvent, reason?: string) => void
