import type { CollectionRequest } from './source.ts'

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
