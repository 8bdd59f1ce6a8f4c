/** How a stored response is listed, by the memory store and by the index in Redis. */
import type { IndexEntry, StoredResponseInfo } from '../../core/response.ts'

export interface ListedResponse extends StoredResponseInfo {
  readonly key: string
  /** Bytes of the body. */
  readonly size: number
  /** Milliseconds. */
  readonly fetchTime: number
  /** Milliseconds for which the response is stored. */
  readonly lifetime: number
}

/** `timeLeft`: milliseconds until the response is removed. */
export function toIndexEntry(listed: ListedResponse, timeLeft: number, hits: number): IndexEntry {
  const { key, url, group, endpoint, scope, tags, size, fetchTime, lifetime } = listed
  const age = Math.max(0, lifetime - timeLeft)
  return { key, url, group, endpoint, scope, tags, size, age, timeLeft, hits, fetchTime }
}
