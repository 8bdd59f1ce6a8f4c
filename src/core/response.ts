import type { Readable } from 'node:stream'
import type { StoredResponse } from './stored-response.ts'

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
