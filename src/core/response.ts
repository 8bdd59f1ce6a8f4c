import type { Readable } from 'node:stream'
import type { Tag } from '../catalogue/endpoint.ts'

/** `json`: bytes of a checked `{error, data}` or `{error, message}` envelope. `raw`: a file passed through. */
export type EdgeResponse =
  | {
      readonly kind: 'json'
      readonly status: number
      readonly body: Buffer
      readonly headers?: Headers
      /** Of a joined answer: the value of `Cluster-Status`, one member for each node that was asked. */
      readonly clusterStatus?: string
      /** Some nodes are missing from it, or gave what they had kept: it must not be kept as if whole. */
      readonly partial?: true
      /** Of a joined answer: milliseconds for which its oldest part had been kept. */
      readonly oldestPartAge?: number
      /** Of a write over many nodes: whether some of them acted is not known, or they may be at it still. */
      readonly outcomeUnknown?: true
      /** It speaks to one caller alone. */
      readonly personal?: boolean
      /** There when the answer may be kept: clients may hold it too, and ask whether it is still the same. */
      readonly cached?: CachedResponse
    }
  | {
      readonly kind: 'raw'
      readonly status: number
      readonly type: string
      readonly length?: number
      readonly stream: Readable
    }

export interface CachedResponse {
  readonly response: StoredResponse
  readonly status: CacheStatus
}

/** How the cache dealt with a request, in the words of RFC 9211 section 2. `ttl` in milliseconds; negative when stale. */
export interface CacheStatus {
  readonly hit?: true
  readonly fwd?: 'bypass' | 'uri-miss' | 'stale' | 'request'
  readonly stored?: true
  readonly collapsed?: true
  readonly ttl?: number
  readonly detail?: string
}

type Headers = Readonly<Record<string, string>>

/**
 * The state of some tags at one moment. Two marks of the same tags are equal when nothing touched the data between
 * them: an answer whose fill began at one mark may be served while the mark is still the same.
 */
export interface TagEpochs {
  /** Changes when the store loses its memory: flush, fail-over to another primary. */
  readonly generation: string
  /** One for each tag, in the order asked; equal texts mean that no write touched the tag. */
  readonly epochs: readonly string[]
  /** A write to one of the tags is under way, or its outcome is unknown. */
  readonly fenced: boolean
}

/** What is stored of an answer, beside its bytes. */
export interface StoredResponse {
  readonly status: number
  /** The body, not encoded. The same object as long as the near copy lives, so that others may hang encodings on it. */
  readonly body: Buffer
  /** Strong entity tag of the body, with its quotes (RFC 9110 section 8.8.3). */
  readonly etag: string
  /** Milliseconds since its fill began, by a monotonic clock. */
  readonly age: number
  /** Milliseconds that it is fresh, and that it may be served after that: revalidating, or when nodes fail. */
  readonly ttl: number
  readonly staleWhileRevalidate: number
  readonly staleIfError: number
  /** Milliseconds that its fill took of a node's time. */
  readonly fetchTime: number
  /** Of a joined answer: what `Cluster-Status` said of the nodes when it was put together. */
  readonly clusterStatus?: string
}

/** `near`: no round trip was needed. `changed`: an entry is there, but of another mark (never to be served after a write). */
export type Lookup =
  | { readonly kind: 'unavailable' }
  | { readonly kind: 'miss'; readonly epochs: TagEpochs; readonly changed: boolean }
  | {
      readonly kind: 'hit'
      readonly epochs: TagEpochs
      readonly response: StoredResponse
      readonly isLocal: boolean
    }

export interface StoredResponseInfo {
  /** Canonical path and query, such as `/agents?limit=500&offset=0`. */
  readonly url: string
  readonly group: string
  /** The route template. */
  readonly endpoint: string
  /** `everyone`, or a digest of the rights that it was made for. */
  readonly scope: string
  readonly tags: readonly Tag[]
}

/** What is held in this process, and whether the shared store answers; without one it always does. */
export interface CacheStoreState {
  readonly up: boolean
  readonly local: { readonly bytes: number; readonly entries: number }
}

/** One line of the index. Ages and times in milliseconds, sizes in bytes. */
export interface IndexEntry extends StoredResponseInfo {
  readonly key: string
  readonly size: number
  readonly age: number
  readonly timeLeft: number
  readonly hits: number
  readonly fetchTime: number
}

/** The index of kept answers, the same through every replica and after a restart. Kept without scans. */
export interface CacheIndex {
  /** As a look, but it counts as no hit, and no use of the entry: looking at what is kept changes nothing of it. */
  peek(key: string, tags: readonly Tag[]): Promise<Lookup>
  /**
   * Rows of one group, or of all; those whose time is over are not there. Where it takes long, `heard` is given those
   * that were read so far, again and again.
   */
  list(group?: string, onProgress?: (rows: readonly IndexEntry[]) => void): Promise<readonly IndexEntry[]>
  /** Drops everything, one group, or one entry; resolves when no replica serves it any more. */
  purge(what: { readonly group?: string; readonly key?: string; readonly soft?: boolean }): Promise<void>
}
