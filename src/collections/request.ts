/** A collection request, its page, and the codes with which the manager refuses it. */
import v3 from '../contracts/v3/texts.json' with { type: 'json' }
import { type CodeOf, errorTable } from '../core/errors.ts'
import type { Element } from './value.ts'

/** A collection request as the API receives it; the texts are URL-decoded but not parsed. */
export interface CollectionRequest {
  /** Default 0. */
  readonly offset?: number
  /** Default 500. 0 is refused with 1406, more than 1000 with 1405. */
  readonly limit?: number
  readonly sort?: string
  readonly search?: string
  readonly select?: string
  readonly q?: string
  /** Only the different values of the selected field. */
  readonly distinct?: true
  /** Named query parameters that filter the collection (`status`, `os.platform`, …), by name. */
  readonly filters?: Readonly<Record<string, string>>
  /** The time from which time frames (`older_than=1d`, `lastKeepAlive<1d`) count backwards. */
  readonly now: Date
}

/** One page, and the number of matching elements on all pages. */
export interface CollectionPage<T = Element> {
  readonly items: T[]
  readonly totalItems: number
}

/**
 * Creates a collection request from validated query parameters. Every name other than `offset`, `limit`, `sort`,
 * `search`, `select` and `q` is a filter, so the caller must leave out all that are not (`hash`, `download`, `summary`).
 */
export function parseCollectionRequest(query: Readonly<Record<string, string>>, now: Date): CollectionRequest {
  const { offset, limit, sort, search, select, q, ...filters } = query
  return {
    ...(offset !== undefined && { offset: Number(offset) }),
    ...(limit !== undefined && { limit: Number(limit) }),
    ...(sort !== undefined && { sort }),
    ...(search !== undefined && { search }),
    ...(select !== undefined && { select }),
    ...(q !== undefined && { q }),
    filters,
    now,
  }
}

/** The most rows that a node of the v3 layout returns at once. */
export const MAX_LIMIT = 1000
export const DEFAULT_LIMIT = 500

export interface PageWindow {
  readonly offset: number
  readonly limit: number
}

/** Returns the requested window. Throws CollectionError 1406 (limit 0) and 1405 (limit above `maxLimit`). */
export function parsePage(request: Pick<CollectionRequest, 'offset' | 'limit'>, maxLimit = MAX_LIMIT): PageWindow {
  const { offset = 0, limit = DEFAULT_LIMIT } = request
  if (limit === 0) throw new CollectionError(1406)
  if (limit > maxLimit) throw new CollectionError(1405)
  return { offset, limit }
}

/** Error texts as the API of the manager sends them: it cuts every text at the first colon. */
const messages: Readonly<Record<CollectionErrorCode, string>> = {
  ...v3.texts,
  1405: errorTable[1405].message,
  1406: errorTable[1406].message,
}

export type CollectionErrorCode = CodeOf<keyof typeof v3.texts> | 1405 | 1406

/** A request that the collection refuses, with the code and message that a manager returns (HTTP status 200). */
export class CollectionError extends Error {
  readonly code: CollectionErrorCode

  constructor(code: CollectionErrorCode) {
    super(messages[code])
    this.name = 'CollectionError'
    this.code = code
  }
}
