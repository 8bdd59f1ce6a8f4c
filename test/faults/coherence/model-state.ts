/** The types of the model: parts of the protocol that can be left out, and the state at one moment. */
/** Parts of the protocol that can be left out. */
export const faults = [
  /** Epochs are incremented before and after a write, but there is no fence in between. */
  'no fence',
  /** A write invalidates nothing. */
  'no raise',
  /** Epochs are incremented after the write only. */
  'no raise before',
  'no compare',
  'joining without epochs',
  'no bypass',
  'no waiting',
  /** The writer waits before the 2xx, but not before it forwards the write. */
  'no waiting before',
  'no lease',
  /** A lookup in flight when an invalidation arrived is stored in the local tier nevertheless. */
  'no look again',
  /** A write with an unknown outcome removes its fence. */
  'no fence left',
  /** After a flush the store is trusted at once, though the fences of writes in progress were lost. */
  'no distrust',
  /** After a flush, writers wait for registered replicas only, though others have a live lease. */
  'no waiting for the forgotten',
] as const

export type Fault = (typeof faults)[number]

export interface Shared {
  /** Replicas have local tiers, and leases. */
  nearCopies: boolean
  /** The upstream, and its own cache by URL (-1: empty). */
  up: number
  upKept: number
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
  at: 'ready' | 'raised' | 'applied' | 'lifted' | 'done' | 'sent' | 'gone'
  value: number
  /** For each replica: the writer waits for its acknowledgement (the message is in flight). */
  owed: [boolean, boolean]
  /** Its fence is in Redis. */
  fence: boolean
}

export interface Replica {
  /** Value in the local tier that may be served without a round trip (-1: none). */
  near: number
  /** The lease is live. The registration that writers read never ends before it. */
  lease: boolean
  /** Its registration is in Redis. */
  registered: boolean
}

export interface Reader {
  at: 'idle' | 'fill' | 'read' | 'joined' | 'keep' | 'near'
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
  readonly wrong: boolean
}

export interface Step {
  readonly label: string
  readonly next: State
  /** A read returned too old a value. */
  readonly wrong: boolean
}

export type Faults = ReadonlySet<Fault>
/** Adds a step. `change` modifies a copy of the state and returns whether a read returned too old a value. */
export type Say = (label: string, change: (state: State) => boolean) => void

/** The initial state: no operation, value 0 at the upstream, nothing stored. */
export function start(writers: number, flush: boolean, near: boolean): State {
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
    upKept: -1,
    epoch: 0,
    fences: 0,
    entry: -1,
    entryEpoch: -1,
    known: 0,
    distrust: 0,
    nearCopies: near,
  }
  return {
    shared: { ...shared, flushes: flush ? 1 : 0 },
    writers: Array.from({ length: writers }, () => ({ at: 'ready', value: 0, owed: [false, false], fence: false })),
    replicas: [
      { near: -1, lease: near, registered: near },
      { near: -1, lease: near, registered: near },
    ],
    readers: [reader(), reader()],
  }
}
