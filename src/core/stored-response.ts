/** What the cache stores: its times and fields, by which it is stored, copied and found again. */

/**
 * The version counters of some tags at one moment. If they are equal at two moments, no write to the data happened in
 * between: a response whose fetch started at the first moment may be served at the second.
 */
export interface TagEpochs {
  /** Changes when the store has lost its data: after a flush, or a fail-over to another primary. */
  readonly generation: string
  /** One for each tag, in the order of the lookup. */
  readonly epochs: readonly string[]
  /** A write to one of the tags is in progress, or its outcome is unknown. */
  readonly fenced: boolean
  /** When the store read the epochs, by the clock of the store. The fetch that follows starts at this time. */
  readonly readAt?: number
  /** No other replica was registered at this time. */
  readonly isAlone?: boolean
}

/** All in milliseconds. */
const TIMES = {
  /**
   * Freshness lifetime, counted as the age is (the fetch time, then the TTL of the settings), and how long after it the
   * bytes may be served (RFC 5861).
   */
  ttl: 'number',
  staleWhileRevalidate: 'number',
  staleIfError: 'number',
  /** How long after its freshness lifetime it may be served while no node answers. */
  staleInOutage: 'number',
  /** How long after its freshness lifetime it may be served while Redis is unreachable. */
  staleWithoutRedis: 'number',
  /** How long after its freshness lifetime it may be served during a refresh while it is hot. */
  staleWhileHot: 'number',
} as const

const READ_FIELDS = {
  ...TIMES,
  /** Milliseconds that the fetch took. */
  fetchTime: 'number',
  /** If it was joined: the value of `Cluster-Status` when it was joined; else empty. */
  clusterStatus: 'text',
} as const

/**
 * What is stored besides the bytes, by their kind. The types of stored bytes, their form in Redis and their copies follow from
 * this description. `text` becomes a header.
 */
export const STORED_FIELDS = {
  /** Bytes that no read returns, such as that a token was accepted. */
  bytes: TIMES,
  response: {
    ...READ_FIELDS,
    status: 'number',
    /** The error number of the body; 0: success. */
    errorNumber: 'number',
    /** The type of the body; empty: that of all other JSON. */
    contentType: 'text',
    /** Strong entity tag of the body, with its quotes (RFC 9110 section 8.8.3). */
    etag: 'text',
  },
  /** The head of a snapshot of a collection, as JSON. */
  snapshot: {
    ...READ_FIELDS,
    /** The bytes of the rows, which are stored apart. */
    rowBytes: 'number',
  },
} as const

export type StoredKind = keyof typeof STORED_FIELDS

export const NEVER_STALE = {
  staleWhileRevalidate: 0,
  staleIfError: 0,
  staleInOutage: 0,
  staleWithoutRedis: 0,
  staleWhileHot: 0,
} as const

/** Returns a value to store for `ttl` milliseconds, and for `staleInOutage` more as an expired one. */
export function bytesOf(value: object, ttl: number, staleInOutage = 0): StoredBytes {
  return { kind: 'bytes', body: Buffer.from(JSON.stringify(value)), ttl, ...NEVER_STALE, staleInOutage }
}

type Description = Readonly<Record<string, 'number' | 'text'>>

type FieldsOf<Described extends Description> = {
  readonly [Name in keyof Described]: Described[Name] extends 'number' ? number : string
}

export type StoredTimes = FieldsOf<typeof TIMES>

/** Bytes as they are stored. All lookups of one copy return the same object, unless it was invalidated softly. */
export interface StoredBytes extends StoredTimes {
  readonly kind: StoredKind
  /** Of a response: the body without content coding. */
  readonly body: Buffer
}

export interface StoredResponse extends StoredBytes, FieldsOf<(typeof STORED_FIELDS)['response']> {
  readonly kind: 'response'
  /** What clients get of it. Not in Redis: each copy makes its own. */
  readonly forms: StoredForms
}

export interface StoredSnapshot extends StoredBytes, FieldsOf<(typeof STORED_FIELDS)['snapshot']> {
  readonly kind: 'snapshot'
}

/** What reads through the cache store. */
export type StoredRead = StoredResponse | StoredSnapshot

/** What is stored, with the time since its fetch started, in milliseconds of a monotonic clock. */
export interface AgedResponse<Of extends StoredBytes = StoredRead> {
  readonly response: Of
  readonly age: number
}

/** The forms in which clients get one stored response: as it is or indented, both also encoded. They are released together with it. */
export class StoredForms {
  plain: StoredForm | undefined = undefined
  br: StoredForm | undefined = undefined
  gzip: StoredForm | undefined = undefined
  pretty: StoredForm | undefined = undefined
  'pretty-br': StoredForm | undefined = undefined
  'pretty-gzip': StoredForm | undefined = undefined
}

/** Everything is made when a client needs it first. */
export interface StoredForm {
  /** Its entity tag, with quotes. */
  readonly etag: string
  /** Of a content coding: the body, or a promise while it is being made. `notSmaller`: the body is sent without a coding. */
  encoded?: Buffer | 'notSmaller' | Promise<Buffer | 'notSmaller'>
  /** The head of a response with the body, and that of a 304. */
  full?: PreparedHead
  notModified?: PreparedHead
}

export interface PreparedHead {
  /** Names in lower case and values, alternating, which stay the same. */
  readonly stable: readonly string[]
  /** The headers of the last hit. Age and time left are sent in whole seconds, so hits of one second share them. */
  last?: {
    /** Seconds. */
    readonly age: number
    readonly ttl: number | undefined
    readonly clusterStatus: string
    readonly headers: readonly string[]
  }
}

/**
 * The result of a lookup. `isLocal`: from the local tier, without a round trip. `changed`: something is stored, but a
 * write has changed its epochs, so it must not be served.
 */
export type Lookup<Of extends StoredBytes = StoredRead> =
  | { readonly kind: 'unavailable' }
  | { readonly kind: 'miss'; readonly epochs: TagEpochs; readonly changed: boolean }
  | ({ readonly kind: 'hit'; readonly epochs: TagEpochs; readonly isLocal: boolean } & AgedResponse<Of>)

export type Hit = Extract<Lookup, { kind: 'hit' }>
