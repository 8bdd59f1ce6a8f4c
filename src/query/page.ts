import { CollectionError } from './error.ts'
import type { CollectionRequest } from './source.ts'

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
