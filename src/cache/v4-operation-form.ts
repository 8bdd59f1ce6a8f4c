/** How the v4 contract writes what the operations of `/cache` return: as affected items. It refuses with a problem. */

import type { CollectionError, CollectionPage } from '../collections/request.ts'
import { cacheEntries } from '../collections/sources.ts'
import type { CacheExplanation } from '../core/cache.ts'
import { type IndexEntry, shownEntry } from '../core/cache-entries.ts'
import { nameFor } from '../core/endpoint-names.ts'
import { errorTable, ProblemError } from '../core/errors.ts'
import type { EdgeRequest } from '../core/request.ts'
import type { EdgeOrigin } from '../core/response.ts'
import { type CacheForm, MINIMAL, type Purged, type Response, sorted, written } from './operation-forms.ts'

const TITLE = 'Bad Request'
const MAX_V4_LIMIT = 100_000
/** The error of a failed item: a key that no stored response has. */
const UNKNOWN_KEY = { code: 945, message: errorTable[945].message } as const
const NONE_FOUND = 'No selected stored response was found'
const SOME_NOT_FOUND = 'Some selected stored responses were not found'

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
  explanation: (value: CacheExplanation) =>
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
      failed: { keys: unknownKeys, isComplete: cost?.entries === 0 },
      more: cost,
      ...(request.returnMinimal && { origin: MINIMAL }),
    })
  },
} satisfies CacheForm & { readonly groups: unknown }

const PURGED: Readonly<Record<Purged['outcome'], string>> = {
  done: 'All selected stored responses were purged',
  pending: 'Redis is unreachable: the selected stored responses are purged when it is back',
  preview: 'Nothing was purged. These stored responses would be',
}

interface ItemsOptions {
  readonly message: string
  /** Absent: the number of items. */
  readonly total?: number
  /** The keys that no stored response has; `isComplete`: all have failed. */
  readonly failed?: { readonly keys: readonly string[]; readonly isComplete: boolean }
  /** Further members of `data`. */
  readonly more?: object | undefined
  readonly origin?: EdgeOrigin
}

function items(affected: readonly unknown[], options: ItemsOptions): Promise<Response> {
  const { message, total = affected.length, failed, more = {}, origin } = options
  const { keys = [], isComplete } = failed ?? {}
  // As the manager counts.
  const error = keys.length === 0 ? 0 : isComplete ? 1 : 2
  const data = {
    affected_items: affected,
    total_affected_items: total,
    total_failed_items: keys.length,
    failed_items: keys.length === 0 ? [] : [{ error: UNKNOWN_KEY, id: keys }],
    ...more,
  }
  return written({ data, message: [message, NONE_FOUND, SOME_NOT_FOUND][error], error }, error, origin)
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
function explanationOf(value: CacheExplanation): object {
  const { endpoint, url, invalidatedBy = [] } = value
  if (endpoint === undefined) return value
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
