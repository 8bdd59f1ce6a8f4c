import type { Element } from './value.ts'

/**
 * The codes with which a manager answers a collection request that it cannot carry out (contract/errors.yaml).
 * Its API cuts every text at the first colon, so none has more than what stands before.
 */
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

export type CollectionCode = keyof typeof messages

/** A request that the collection refuses; `code` and `message` are what a manager would answer (HTTP 200). */
export class CollectionError extends Error {
  readonly code: CollectionCode

  constructor(code: CollectionCode) {
    super(messages[code])
    this.name = 'CollectionError'
    this.code = code
  }
}

/**
 * Makes a collection request of query texts that were validated: `offset`, `limit`, `sort`, `search`,
 * `select` and `q` by their names, every other name as a filter. The caller leaves out names that are
 * neither (`hash`, `download`, `summary`). `now` is what time frames are counted from.
 */
export function readRequest(query: Readonly<Record<string, string>>, now: Date): CollectionRequest {
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

const MOST = 1000
const DEFAULT_LIMIT = 500

export interface Page {
  readonly offset: number
  readonly limit: number
}

/** The page that a request asks for. Throws 1406 for no rows and 1405 for more than `most`. */
export function readPage(request: Pick<CollectionRequest, 'offset' | 'limit'>, most = MOST): Page {
  const { offset = 0, limit = DEFAULT_LIMIT } = request
  if (limit === 0) throw new CollectionError(1406)
  if (limit > most) throw new CollectionError(1405)
  return { offset, limit }
}

export function cut<T>(rows: readonly T[], page: Page): T[] {
  return rows.slice(page.offset, page.offset + page.limit)
}

/** A collection request as the API takes it; texts are not decoded further. */
export interface CollectionRequest {
  /** Default 0. */
  readonly offset?: number
  /** Default 500. 0 is refused with 1406; above 1000 with 1405. */
  readonly limit?: number
  readonly sort?: string
  readonly search?: string
  readonly select?: string
  readonly q?: string
  /** Named query parameters that narrow the collection (`status`, `os.platform`, …), by name. */
  readonly filters?: Readonly<Record<string, string>>
  /** The moment from which time frames (`older_than=1d`, `lastKeepAlive<1d`) are counted. */
  readonly now: Date
}

/** One page, and how many elements match over all pages. */
export interface Collected<T = Element> {
  readonly items: T[]
  readonly totalItems: number
}
