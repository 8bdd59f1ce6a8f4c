/** What the store over Redis may be told, and what it says of itself. */
import type { RedisStepEvent } from '../core/events.ts'

export interface RedisPlace {
  /** `redis://`, `rediss://` or `unix://` and a path. One of url, sentinels and cluster. */
  readonly url?: string
  readonly sentinels?: readonly Address[]
  /** Of the primary, as the sentinels call it. */
  readonly name?: string
  readonly cluster?: readonly Address[]
  readonly username?: string
  readonly password?: string
  /** Present: TLS to servers and sentinels. `ca` is PEM. */
  readonly tls?: { readonly ca?: string | Buffer }
}

export interface Address {
  readonly host: string
  readonly port: number
}

export interface RedisStoreOptions {
  readonly redis: RedisPlace
  /** Of the near copy; 0: none. */
  readonly nearBytes: number
  /** Seals entries and index rows; absent: they carry a check against damage only. */
  readonly encryptionKey?: Buffer
  /** A write while nobody can be told: its answer waits for the near copies to run out, or it is refused. */
  readonly onLostStore?: 'delay' | 'refuse'
  readonly times?: Partial<Times>
  readonly elapsed?: () => number
  readonly onEvent?: OnEvent
  /** Hears of each step. */
  readonly onStep?: (step: RedisStepEvent) => void
}

/** Milliseconds. */
export interface Times {
  /** A step that took longer counts as Redis being away. */
  readonly command: number
  /** How long near copies are trusted after a heartbeat was sent. */
  readonly lease: number
  readonly heartbeat: number
  readonly fenceLease: number
  /** Between two attempts to reach a Redis that is away. */
  readonly probe: number
  /** Bulk steps that no request waits for. */
  readonly slow: number
  /** A connection that said nothing for so long is opened anew. */
  readonly stuck: number
}

export const defaultTimes: Times = {
  command: 50,
  lease: 2000,
  heartbeat: 500,
  fenceLease: 240_000,
  probe: 100,
  slow: 1000,
  stuck: 1500,
}

/**
 * `late`: a step passed its time · `lost`, `returned`: Redis went away, came back · `garbage`: an entry that nobody
 * wrote · `full`: an entry was not taken · `forgot`: near copies were given up (gap, flush, fail-over) · `alone`: a
 * write that could not be told went on after the lease · `unheard`: a replica did not acknowledge a raise in its lease ·
 * `replayed`: raises that could not be written were written.
 */
export const storeEvents = [
  'late',
  'lost',
  'returned',
  'garbage',
  'full',
  'forgot',
  'alone',
  'unheard',
  'replayed',
] as const
export type StoreEvent = (typeof storeEvents)[number]

/** `reason`: why Redis counts as away, in its own words or those of the connection. */
export type OnEvent = (event: StoreEvent, reason?: string) => void

/** Names in Redis. */
export const names = {
  coherence: 'edge:{e}',
  raised: 'edge:{e}:raised',
  /** Channel of one replica: its own heartbeats and acknowledgements for it. */
  to: (replica: string) => `edge:{e}:to:${replica}`,
  settled: 'edge:{e}:settled',
  /** An entry was replaced: who did it, a space, its key. */
  kept: 'edge:{e}:kept',
  entry: (key: string) => `edge:c:${key}`,
  claim: (name: string) => `edge:l:${name}`,
  groups: 'edge:i',
  index: (group: string): [string, string, string] => [
    `edge:i:{${group}}`,
    `edge:i:{${group}}:rows`,
    `edge:i:{${group}}:hits`,
  ],
}
