/** What differs between the two contracts in requests and responses for collections. */
import type { Contract, NewerRows, SnapshotRows } from '../catalogue/endpoint.ts'
import { isComputable } from './computable.ts'
import { isComputableInNewer } from './newer-computable.ts'
import { newerSources } from './newer-sources.ts'
import { type CollectionRequest, parseCollectionRequest } from './request.ts'
import { type Source, sources } from './sources.ts'

export interface CollectionContract {
  /** The members of `data` with the rows of a page, and with the number of rows on all pages. */
  readonly rowsName: string
  readonly totalName: string
  /** Whether responses are written with the text around the rows that the node has written. */
  readonly framedByNode: boolean
  sourceOf(rows: SnapshotRows | NewerRows): Source
  /** Returns a request in the words of `CollectionRequest`; `undefined`: it has none for what the request asks. */
  parse(query: Readonly<Record<string, string>>, now: Date): CollectionRequest | undefined
  /** Whether the manager computes the same as `src/query` and `src/rows`. */
  isComputable(request: CollectionRequest, source: Source): boolean
}

const classic: CollectionContract = {
  rowsName: 'items',
  totalName: 'totalItems',
  framedByNode: false,
  sourceOf: (rows) => sources[rows as SnapshotRows],
  parse: parseCollectionRequest,
  isComputable,
}

const newer: CollectionContract = {
  rowsName: 'affected_items',
  totalName: 'total_affected_items',
  framedByNode: true,
  sourceOf: (rows) => newerSources[rows as NewerRows],
  parse: parseNewer,
  isComputable: isComputableInNewer,
}

export const collectionContracts: Readonly<Record<Contract, CollectionContract>> = { classic, newer }

/**
 * A `-` negates a search, where the classic contract has a `!`. Quotes are removed from everywhere in a search. A space
 * in a sort is part of a name.
 */
function parseNewer(query: Readonly<Record<string, string>>, now: Date): CollectionRequest | undefined {
  const { search, distinct = 'false', ...rest } = query
  if (rest.sort?.includes(' ')) return undefined
  const isDistinct = distinct.toLowerCase() === 'false' ? undefined : ({ distinct: true } as const)
  if (search === undefined) return { ...parseCollectionRequest(rest, now), ...isDistinct }
  const isNegated = search.startsWith('-')
  const text = isNegated ? search.slice(1) : search
  if (/^!|["']/.test(text) || text.trim() === '') return undefined
  return { ...parseCollectionRequest({ ...rest, search: isNegated ? `!${text}` : text }, now), ...isDistinct }
}
