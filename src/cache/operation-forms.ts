/**
 * How each contract writes what the operations of `/cache` return. The shapes of the v3 form, and the name `redisClient`, are
 * those of the manager's own cache. `v4-operation-form.ts` has the other one.
 */

import { compareText } from '../collections/order.ts'
import { type CollectionError, type CollectionPage, MAX_LIMIT } from '../collections/request.ts'
import type { Row } from '../collections/value.ts'
import type { CacheExplanation } from '../core/cache.ts'
import { type IndexEntry, type PurgeCost, type PurgeOutcome, shownEntry } from '../core/cache-entries.ts'
import type { CacheIndex } from '../core/cache-index.ts'
import { envelopeOf } from '../core/envelope.ts'
import { inTurns, selectFirst } from '../core/long-lists.ts'
import { jsonInTurns } from '../core/long-values.ts'
import type { EdgeRequest } from '../core/request.ts'
import { type EdgeOrigin, type EnvelopeResponse, OF_EDGE } from '../core/response.ts'

export type Response = EnvelopeResponse<EdgeOrigin>
type Written = Response | Promise<Response>

/** The entries that a caller may read. */
export type ListedEntries = Pick<CacheIndex, 'list' | 'count' | 'page'>

/** What a purge removes, as listed before it. */
export interface FoundResponses {
  readonly cost: PurgeCost
  /** Those that the caller may read. */
  readonly readable: readonly IndexEntry[]
  /** The keys of the request that no stored response has. */
  readonly unknownKeys: readonly string[]
}

/** `left`: what is still stored. `found`: present for a preview, and if the form names what was purged. */
export interface Purged {
  readonly request: EdgeRequest
  readonly outcome: PurgeOutcome | 'preview'
  readonly found: FoundResponses | undefined
  readonly left: ListedEntries
}

export interface CacheForm {
  /** Whether the response to a purge names what was purged. */
  readonly namesPurged: boolean
  /** The greatest page. */
  readonly maxLimit: number
  readonly toRow: (entry: IndexEntry) => Row
  /** Returns a text to search for in the words of the v3 contract. */
  readonly searchOf: (text: string) => string
  readonly page: (page: CollectionPage) => Written
  /** Returns or throws the error of a query that the collection refuses. */
  readonly refused: (fault: CollectionError, query: EdgeRequest['query']) => Response
  readonly configuration: (value: object) => Written
  readonly explanation: (value: CacheExplanation) => Written
  readonly purged: (purged: Purged) => Written
}

export const v3Form = {
  namesPurged: false,
  maxLimit: MAX_LIMIT,
  toRow: (entry: IndexEntry) => shownEntry(entry),
  searchOf: (text: string) => text,
  page: success,
  refused: ({ code, message }: CollectionError) => envelopeOf({ error: code, message }, OF_EDGE),
  configuration: success,
  explanation: success,
  purged: ({ request, found, left }: Purged) =>
    found === undefined ? listing(left, request.returnMinimal) : success(found.cost),
  /** The URLs of all entries, or the number of entries (`Prefer: return=minimal`, RFC 7240). */
  listing,
} satisfies CacheForm & { readonly listing: typeof listing }

function success(data: unknown): Response {
  return envelopeOf({ error: 0, data }, OF_EDGE)
}

async function listing(entries: ListedEntries, isMinimal: boolean): Promise<Response> {
  return isMinimal ? counts(entries) : urlsOf(await entries.list())
}

export const MINIMAL: EdgeOrigin = { ...OF_EDGE, headers: { 'preference-applied': 'return=minimal' } }

/** Of all entries, the cost does not depend on their number. */
async function counts(entries: ListedEntries): Promise<Response> {
  const groups = await entries.count()
  const all = [...groups.values()].reduce((sum, count) => sum + count, 0)
  return envelopeOf({ error: 0, data: { all, groups: Object.fromEntries(groups) } }, MINIMAL)
}

/**
 * Returns the response of `GET /cache`: the URLs of all stored responses, also by group. There may be a hundred thousand.
 * Each URL is listed once, though it may be stored for several scopes. Serves other events of the loop meanwhile.
 */
async function urlsOf(entries: readonly IndexEntry[]): Promise<Response> {
  const all = new Set<string>()
  const groups = new Map<string, Set<string>>()
  for await (const part of inTurns(entries)) {
    for (const { group, url } of part) {
      all.add(url)
      groups.set(group, (groups.get(group) ?? new Set<string>()).add(url))
    }
  }
  const listed: [string, readonly string[]][] = []
  for (const group of [...groups.keys()].sort()) listed.push([group, await sorted(groups.get(group) ?? [])])
  return written({ error: 0, data: { all: await sorted(all), groups: Object.fromEntries(listed) } })
}

export async function sorted(texts: Iterable<string>): Promise<readonly string[]> {
  const { first } = await selectFirst([...texts], (text) => text, compareText, Number.POSITIVE_INFINITY)
  return first
}

/** There may be a hundred thousand items, so other events of the loop are served meanwhile. */
export async function written(value: object, errorNumber = 0, origin = OF_EDGE): Promise<Response> {
  return { kind: 'envelope', status: 200, body: await jsonInTurns(value), errorNumber, origin }
}
