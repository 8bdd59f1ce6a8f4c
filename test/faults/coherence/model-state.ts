/** The types of the model: parts of the protocol that can be left out, and the state at one moment. */

/** Parts of the protocol that can be left out. */
export const faults = [
  /** Epochs are incremented before and after a write, but there is no fence in between. */
  'no fence',
  /** A write invalidates nothing. */
  'no invalidation',
  /** Epochs are incremented after the write only. */
  'no invalidation before',
  'no compare',
  'collapsing without epochs',
  'no bypass',
  'no waiting',
  /** The writer waits before the 2xx, but not before it forwards the write. */
  'no waiting before',
  'no lease',
  /** A response is stored in the local tier although an invalidation arrived since its lookup. */
  'no second check',
  /** A write with an unknown outcome removes its fence. */
  'no fence left',
  /** After a flush the store is trusted at once, though the fences of writes in progress were lost. */
  'no distrust',
  /** After a flush, writers wait for registered replicas only, though others have a live lease. */
  'no waiting for unregistered replicas',
  /** With links: a writer that gets no reply takes Redis for lost, forwards its write, and acknowledges it. */
  'no waiting for Redis',
  /** With links: a writer that gets no reply forwards its write, and acknowledges it after its lift only. */
  'forwarded without its fence',
] as const

export type Fault = (typeof faults)[number]

export interface Shared {
  /** Replicas have local tiers, and leases. */
  hasLocalTiers: boolean
  /** Messages between replicas and Redis take any time, and may be lost. */
  hasLinks: boolean
  /** The upstream, and its own cache by URL (-1: empty). */
  up: number
  upstreamCached: number
  epoch: number
  fences: number
  /** The entry in Redis: value and epoch of its fetch (-1: none). */
  entry: number
  entryEpoch: number
  /** The newest value that was acknowledged or returned so far. */
  known: number
  /** How often Redis may still lose its data. Afterwards no replica trusts the store until fences are renewed. */
  flushes: number
  distrust: number
}

export interface Writer {
  /** With links also: waits for the reply to its fence or lift, or has given up one of them. */
  at:
    | 'ready'
    | 'invalidated'
    | 'applied'
    | 'lifted'
    | 'done'
    | 'sent'
    | 'applied late'
    | 'fencing'
    | 'lifting'
    | 'refused'
    | 'unconfirmed'
  /** With links: the replica through which it reaches Redis, and the messages that are on their way. */
  replica: 0 | 1
  toRedis: 'nothing' | 'fence' | 'lift'
  hasReply: boolean
  value: number
  /** For each replica: the writer waits for its acknowledgement (the message is in flight). */
  awaited: [boolean, boolean]
  /** Its fence is in Redis. */
  fence: boolean
}

export interface Replica {
  /** Value in the local tier that may be served without a round trip (-1: none). */
  local: number
  /** The lease is live. The registration that writers read never ends before it. */
  lease: boolean
  /** Its registration is in Redis. */
  registered: boolean
}

export interface Reader {
  at: 'idle' | 'fetch' | 'read' | 'joined' | 'store' | 'local store'
  replica: 0 | 1
  epoch: number
  fenced: boolean
  value: number
  floor: number
  /** Since the lookup was sent, no invalidation arrived and the lease was not lost. */
  trusted: boolean
}

export interface State {
  shared: Shared
  writers: Writer[]
  replicas: [Replica, Replica]
  readers: [Reader, Reader]
}

export interface Step {
  readonly label: string
  readonly next: State
  /** A read returned too old a value. */
  readonly wrong: boolean
}

export type Faults = ReadonlySet<Fault>
/** Adds a step. `change` modifies a copy of the state and returns whether a read returned too old a value. */
export type AddStep = (label: string, change: (state: State) => boolean) => void

/** The initial state: no operation, value 0 at the upstream, nothing stored. */
export function start(writers: number, flush: boolean, local: boolean, links: boolean): State {
  const reader = (): Reader => ({
    at: 'idle',
    replica: 0,
    epoch: 0,
    fenced: false,
    value: 0,
    floor: 0,
    trusted: false,
  })
  const shared = {
    up: 0,
    upstreamCached: -1,
    epoch: 0,
    fences: 0,
    entry: -1,
    entryEpoch: -1,
    known: 0,
    distrust: 0,
    hasLocalTiers: local,
    hasLinks: links,
  }
  const writer = (_: unknown, index: number): Writer => ({
    at: 'ready',
    replica: index % 2 === 0 ? 0 : 1,
    toRedis: 'nothing',
    hasReply: false,
    value: 0,
    awaited: [false, false],
    fence: false,
  })
  return {
    shared: { ...shared, flushes: flush ? 1 : 0 },
    writers: Array.from({ length: writers }).map(writer),
    replicas: [
      { local: -1, lease: local, registered: local },
      { local: -1, lease: local, registered: local },
    ],
    readers: [reader(), reader()],
  }
}
