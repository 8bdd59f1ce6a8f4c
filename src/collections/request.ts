/** A collection request, its page, and the codes with which the manager refuses it. */
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
const messages = {
  1000: 'Internal error',
  1202: "Argument 'status' must be",
  1203: "Argument 'level' must be a number or an interval separated by '-'",
  1403: 'Sort field invalid',
  1404: 'A field must be specified to order the data',
  1405: 'Specified limit exceeds maximum allowed (1000)',
  1406: '0 is not a valid limit',
  1407: 'Query does not match expected format',
  1408: 'Field does not exist.',
  1409: 'Invalid query operator.',
  1411: 'TimeFrame is not valid',
  1412: 'Date filter not valid. Valid formats are timeframe or YYYY-MM-DD HH',
  1603: 'Invalid status. Valid statuses are',
  1724: 'Not a valid select field',
  1728: 'Invalid node type',
  1729: 'Invalid status. Valid statuses are Active, Disconnected, Pending and Never Connected',
} as const

export type CollectionErrorCode = keyof typeof messages

/** A request that the collection refuses, with the code and message that a manager returns (HTTP status 200). */
export class CollectionError extends Error {
  readonly code: CollectionErrorCode

  constructor(code: CollectionErrorCode) {
    super(messages[code])
    this.name = 'CollectionError'
    this.code = code
  }
}
