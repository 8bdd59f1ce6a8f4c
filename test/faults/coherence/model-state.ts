/** The words of the model: what can be left out of the protocol, and what there is at one moment. */
/** What can be left out of the protocol. */
export const faults = [
  /** Raises before and after, but nothing stands between them. */
  'no fence',
  /** A write tells nobody. */
  'no raise',
  /** Raised after the write only. */
  'no raise before',
  'no compare',
  'joining without epochs',
  'no bypass',
  'no waiting',
  /** Waits before the 2xx, but not before the write is forwarded. */
  'no waiting before',
  'no lease',
  /** A look that was under way when a raise came in fills the near copy all the same. */
  'no look again',
  /** A write whose outcome is unknown takes its fence along. */
  'no fence left',
  /** After a flush the store is trusted at once, though the fences of writes under way were lost with it. */
  'no distrust',
  /** After a flush, writers wait only for replicas that have registered anew, though others have a live lease. */
  'no waiting for the forgotten',
] as const

export type Fault = (typeof faults)[number]

export interface Shared {
  /** There are near copies, and so leases, at all. */
  nearCopies: boolean
  /** Upstream, and its own cache by URL (-1: nothing in it). */
  up: number
  upKept: number
  epoch: number
  fences: number
  /** The entry in Redis: value and epoch of its fill (-1: none). */
  entry: number
  entryEpoch: number
  /** The newest value that was acknowledged or returned so far. */
  known: number
  /** Times that Redis may still lose its memory; after it: nobody trusts the store until fences are renewed. */
  flushes: number
  distrust: number
}

export interface Writer {
  at: 'ready' | 'raised' | 'applied' | 'lifted' | 'done' | 'sent' | 'gone'
  value: number
  /** For each replica: its acknowledgement is waited for (the message is still on its way). */
  owed: [boolean, boolean]
  /** Its fence is in Redis. */
  fence: boolean
}

export interface Replica {
  /** Value of the near copy that may be served without a round trip (-1: none). */
  near: number
  /** The lease is live; the registration that writers look at never ends before it. */
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
  /** No raise came in, and the lease was never lost, since the look was sent. */
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
/** Offers a step: `change` changes the copy that it is given, and says whether a read returned too old a value. */
export type Say = (label: string, change: (state: State) => boolean) => void

/** Everything at rest, value 0 upstream, nothing kept. */
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
