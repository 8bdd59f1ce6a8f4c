/** Verifies responses without the code of the edge: by what each page must have, and by the response of the node itself. */
import { isDeepStrictEqual } from 'node:util'

type Row = Readonly<Record<string, unknown>>

interface Body {
  readonly error: number
  readonly data?: { readonly items?: readonly Row[]; readonly totalItems?: number }
}

/** Fields that change while nothing else does: agents report every ten seconds. */
const CHANGING = ['lastKeepAlive', 'status']

/** The collections whose pages are verified, by path. */
export function collectionOf(target: string): 'agents' | 'packages' | 'rules' | undefined {
  const { pathname } = new URL(target, 'http://edge')
  if (pathname === '/agents') return 'agents'
  if (pathname === '/rules') return 'rules'
  return pathname.endsWith('/packages') ? 'packages' : undefined
}

/** Returns what is wrong with a successful response by itself: its error number, its number of rows, rows that repeat. */
export function faultOfPage(target: string, text: string): string | undefined {
  const { error, data } = JSON.parse(text) as Body
  if (error !== 0) return `error ${error}`
  if (collectionOf(target) === undefined) return undefined
  const { searchParams } = new URL(target, 'http://edge')
  const { items, totalItems } = data ?? {}
  if (items === undefined || totalItems === undefined) return 'no collection'
  const [offset, limit] = [Number(searchParams.get('offset') ?? 0), Number(searchParams.get('limit') ?? 500)]
  const expected = Math.max(0, Math.min(limit, totalItems - offset))
  if (items.length !== expected) return `${items.length} rows instead of ${expected}`
  return new Set(items.map((row) => JSON.stringify(row))).size === items.length ? undefined : 'a row twice'
}

/**
 * Returns whether a computed page is the one that the node returns. Rows with equal values in the sorted field have no
 * order among them, so those pages are compared by these values.
 */
export function isPageOfNode(target: string, computed: string, fromNode: string): boolean {
  const [own, other] = [pageOf(computed), pageOf(fromNode)]
  if (own.totalItems !== other.totalItems) return false
  if (isDeepStrictEqual(own.items, other.items)) return true
  const sort = new URL(target, 'http://edge').searchParams.get('sort')
  if (sort === null) return false
  const valuesOf = ({ items }: typeof own) => items.map((row) => fieldOf(row, sort.replace(/^[+ -]/, '')))
  return isDeepStrictEqual(valuesOf(own), valuesOf(other))
}

function pageOf(text: string): { readonly totalItems: number | undefined; readonly items: readonly Row[] } {
  const { data } = JSON.parse(text) as Body
  const items = (data?.items ?? []).map((row) => {
    return Object.fromEntries(Object.entries(row).filter(([name]) => !CHANGING.includes(name)))
  })
  return { totalItems: data?.totalItems, items }
}

function fieldOf(row: Row, field: string): unknown {
  return field.split('.').reduce<unknown>((value, name) => (value as Row | undefined)?.[name], row)
}
