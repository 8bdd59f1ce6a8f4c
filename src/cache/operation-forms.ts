/**
 * How each contract writes what the operations of `/cache` return. The shapes of the v3 form, and the name
 * `redisClient`, are those of the manager's own cache. The v4 one has affected items, and refuses with a problem.
 */

import { type CollectionError, type CollectionPage, MAX_LIMIT } from '../collections/request.ts'
import { cacheEntries } from '../collections/sources.ts'
import type { Row } from '../collections/value.ts'
import { type CacheExplanation, type IndexEntry, type PurgeCost, type PurgeOutcome, shownEntry } from '../core/cache.ts'
import type { CacheIndex } from '../core/cache-index.ts'
import { nameFor } from '../core/endpoint-names.ts'
import { envelopeOf } from '../core/envelope.ts'
import { errorTable, ProblemError } from '../core/errors.ts'
import type { EdgeRequest } from '../core/request.ts'
import { type EdgeOrigin, type EnvelopeResponse, OF_EDGE } from '../core/response.ts'
import { inTurns, selectFirst } from '../core/turns.ts'
import { compareTexts } from './purge.ts'

type Response = EnvelopeResponse<EdgeOrigin>
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
interface Purged {
  readonly request: EdgeRequest
  readonly outcome: PurgeOutcome | 'preview'
  readonly found: FoundResponses | undefined
  readonly left: ListedEntries
}

type ShownExplanation = CacheExplanation | Pick<CacheExplanation, 'cacheable' | 'reason'>

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
  readonly explanation: (value: ShownExplanation) => Written
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

const MINIMAL: EdgeOrigin = { ...OF_EDGE, headers: { 'preference-applied': 'return=minimal' } }

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
      const urls = groups.get(group)
      if (urls === undefined) groups.set(group, new Set([url]))
      else urls.add(url)
    }
  }
  const parts = ['{"error":0,"data":{"all":', ...(await jsonList(await sorted(all))), ',"groups":{']
  for (const [at, group] of [...groups.keys()].sort().entries()) {
    const urls = await sorted(groups.get(group) ?? [])
    parts.push(`${at === 0 ? '' : ','}${JSON.stringify(group)}:`, ...(await jsonList(urls)))
  }
  return written([...parts, '}}}'])
}

const TITLE = 'Bad Request'
const MAX_V4_LIMIT = 100_000
/** The error of a failed item: a key that no stored response has. */
const UNKNOWN_KEY = { code: 945, message: errorTable[945].message } as const

export const v4Form = {
  namesPurged: true,
  maxLimit: MAX_V4_LIMIT,
  toRow: (entry: IndexEntry) => {
    const shown = shownEntry(entry)
    return { ...shown, url: nameFor('v4', shown.url), endpoint: nameFor('v4', shown.endpoint) }
  },
  // In quotes, the v3 contract reads a text as it is.
  searchOf: (text: string) => (text.startsWith('-') ? `!"${text.slice(1)}"` : `"${text}"`),
  page: ({ items: rows, totalItems }: CollectionPage) =>
    items(rows, { total: totalItems, message: 'All selected stored responses were returned' }),
  refused: ({ code, message }: CollectionError, query: EdgeRequest['query']) => {
    throw new ProblemError(604, { title: TITLE, number: code, ...wordsOf(code, message, query) })
  },
  configuration: (value: object) => items([value], { message: 'The configuration of the cache was returned' }),
  explanation: (value: ShownExplanation) =>
    items([explanationOf(value)], { message: 'The explanation of the request was returned' }),
  groups: (counted: ReadonlyMap<string, number>) => {
    const rows = [...counted].map(([name, count]) => ({ name, count }))
    return items(rows, { message: 'All groups with stored responses were returned' })
  },
  purged: async ({ request, outcome, found }: Purged) => {
    const { readable = [], unknownKeys = [], cost } = found ?? {}
    const urls = readable.map(({ url }) => nameFor('v4', url))
    return items(request.returnMinimal ? [] : await sorted(urls), {
      total: urls.length,
      message: PURGED[outcome],
      failure: failureOf(unknownKeys, cost?.entries === 0),
      more: cost && v4CostOf(cost),
      ...(request.returnMinimal && { origin: MINIMAL }),
    })
  },
} satisfies CacheForm & { readonly groups: unknown }

function v4CostOf({ neverStale, ...cost }: PurgeCost): object {
  return { ...cost, neverStale: { ...neverStale, urls: neverStale.urls.map((url) => nameFor('v4', url)) } }
}

const PURGED: Readonly<Record<Purged['outcome'], string>> = {
  done: 'All selected stored responses were purged',
  pending: 'Redis is unreachable: the selected stored responses are purged when it is back',
  preview: 'Nothing was purged. These stored responses would be',
}

/** Keys that no stored response has. `error`: as the manager counts, 1 if all have failed, otherwise 2. */
interface Failure {
  readonly keys: readonly string[]
  readonly error: 1 | 2
  readonly message: string
}

function failureOf(keys: readonly string[], isComplete: boolean): Failure | undefined {
  if (keys.length === 0) return undefined
  return isComplete
    ? { keys, error: 1, message: 'No selected stored response was found' }
    : { keys, error: 2, message: 'Some selected stored responses were not found' }
}

interface ItemsOptions {
  readonly message: string
  /** Absent: the number of items. */
  readonly total?: number
  readonly failure?: Failure | undefined
  /** Further members of `data`. */
  readonly more?: object | undefined
  readonly origin?: EdgeOrigin
}

/** Writes affected items. There may be a hundred thousand, so other events of the loop are served meanwhile. */
async function items(affected: readonly unknown[], options: ItemsOptions): Promise<Response> {
  const { message, total = affected.length, failure, more = {}, origin = OF_EDGE } = options
  const keys = failure?.keys ?? []
  const others = {
    total_affected_items: total,
    total_failed_items: keys.length,
    failed_items: failure === undefined ? [] : [{ error: UNKNOWN_KEY, id: keys }],
    ...more,
  }
  const error = failure?.error ?? 0
  const text = JSON.stringify(failure?.message ?? message)
  const rest = `,${JSON.stringify(others).slice(1)},"message":${text},"error":${error}}`
  return written(['{"data":{"affected_items":', ...(await jsonList(affected)), rest], error, origin)
}

/** What the manager says of a query that a collection refuses. */
function wordsOf(
  code: number,
  message: string,
  { sort = '', select = '' }: EdgeRequest['query'],
): { readonly detail: string; readonly remediation?: string } {
  const refusedOf = (kind: string, allowed: readonly string[], sent: string) => {
    const fields = sent.replace(/^[+-]/, '').split(',')
    const others = fields.filter((field) => !allowed.includes(field)).join(', ')
    const listed = allowed.map((field) => `'${field}'`).join(', ')
    return {
      detail: `Not a valid ${kind} field: Allowed ${kind} fields: [${listed}]. Fields: ${others}`,
      remediation: `Please, use only allowed ${kind} fields`,
    }
  }
  if (code === 1403) return refusedOf('sort', cacheEntries.sortable ?? [], sort)
  return code === 1724 ? refusedOf('select', cacheEntries.selectable ?? [], select) : { detail: message }
}

/** Names are written as clients of the v4 contract get them. */
function explanationOf(value: ShownExplanation): object {
  if (!('endpoint' in value)) return value
  const { endpoint, url, invalidatedBy } = value
  const nameOfOperation = (text: string) => {
    const [method = '', name = ''] = text.split(' ')
    return `${method} ${nameFor('v4', name)}`
  }
  return {
    ...value,
    endpoint: nameOfOperation(endpoint),
    ...(url !== undefined && { url: nameFor('v4', url) }),
    invalidatedBy: invalidatedBy.map((each) => ({ ...each, write: nameOfOperation(each.write) })),
  }
}

async function sorted(texts: Iterable<string>): Promise<readonly string[]> {
  const { first } = await selectFirst([...texts], (text) => text, compareTexts, Number.POSITIVE_INFINITY)
  return first
}

async function jsonList(values: readonly unknown[]): Promise<readonly string[]> {
  const parts: string[] = []
  for await (const part of inTurns(values)) {
    parts.push(parts.length === 0 ? '[' : ',', JSON.stringify(part).slice(1, -1))
  }
  return parts.length === 0 ? ['[]'] : [...parts, ']']
}

function written(parts: readonly string[], errorNumber = 0, origin = OF_EDGE): Response {
  const body = Buffer.concat(parts.map((part) => Buffer.from(part)))
  return { kind: 'envelope', status: 200, body, errorNumber, origin }
}
