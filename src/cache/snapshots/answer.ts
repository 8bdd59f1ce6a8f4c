/** Computes the response of a request from the rows of a snapshot. */
import { waitForJsonTurn } from '../../core/json-turns.ts'
import { ownEntry } from '../../core/values.ts'
import { collectInTurns, matchRowsInTurns } from '../../query/collect-in-turns.ts'
import { type CollectionPage, type CollectionRequest, parsePage } from '../../query/request.ts'
import { compileProjection } from '../../query/select.ts'
import type { Element, Row } from '../../query/value.ts'
import type { Derivation, SnapshotSource } from './derivation.ts'

/** Rows that are printed in one turn. */
const ROWS_PER_TURN = 64
/** Selections that are remembered of one snapshot. */
const MAX_SELECTIONS = 16

/**
 * Returns the body of the response. `bytesPerRow`: about the length of a row as text. Throws CollectionError if the node
 * would refuse the request.
 */
export async function answerFrom(
  rows: readonly Row[],
  { collection, source }: Derivation,
  bytesPerRow: number,
): Promise<Buffer> {
  // The rows have the default order already, so a page without a sort is not sorted.
  const { defaultSort, ...unsorted } = source
  const { items, totalItems } = await pageOf(
    rows,
    collection,
    collection.sort === undefined ? (unsorted as SnapshotSource) : source,
  )
  return Buffer.from(`{"error":0,"data":{"items":[${await print(items, bytesPerRow)}],"totalItems":${totalItems}}}`)
}

/**
 * A sort of all rows costs much more than to find the first ones. It pays for a later page, and for another one of the
 * same selection: all further pages cost nothing then. Selections in the order of the rows are remembered at once.
 */
async function pageOf(
  rows: readonly Row[],
  request: CollectionRequest,
  source: SnapshotSource,
): Promise<CollectionPage> {
  const { offset, limit } = parsePage(request)
  const project = compileProjection(request.select, source)
  const selections = selectionsOf(rows)
  const name = nameOf(request, source)
  const known = selections.get(name)
  if (!selections.has(name) && request.sort !== undefined && offset === 0) {
    remember(selections, name, undefined)
    return collectInTurns(rows, (row) => row, request, source)
  }
  const selecting = known ?? matchRowsInTurns(rows, request, source)
  remember(selections, name, selecting)
  const selected = await selecting
  return { items: selected.slice(offset, offset + limit).map(project), totalItems: selected.length }
}

/** By name, all matching rows in their order; undefined: only the first ones were requested, once. */
type Selections = Map<string, Promise<readonly Row[]> | undefined>

const selectionsByRows = new WeakMap<readonly Row[], Selections>()

function selectionsOf(rows: readonly Row[]): Selections {
  const known = selectionsByRows.get(rows) ?? new Map()
  selectionsByRows.set(rows, known)
  return known
}

/** Equal names have equal selections. */
function nameOf(request: CollectionRequest, source: SnapshotSource): string {
  const { sort, search, q, filters, now } = request
  return JSON.stringify([sort, search, q, filters, dependsOnTime(request, source) && Math.floor(now.getTime() / 1000)])
}

/** Time frames count back from the present second. */
function dependsOnTime({ q = '', filters = {} }: CollectionRequest, source: SnapshotSource): boolean {
  if (Object.keys(filters).some((name) => ownEntry(source.filters, name)?.by === 'olderThan')) return true
  if (source.engine !== 'database') return false
  return Object.entries(source.fields).some(([name, kind]) => (kind === 'date' || kind === 'day') && q.includes(name))
}

/** The least recently used is dropped. */
function remember(selections: Selections, name: string, selecting: Promise<readonly Row[]> | undefined): void {
  selections.delete(name)
  selections.set(name, selecting)
  selecting?.catch(() => selections.delete(name))
  for (const oldest of selections.keys()) {
    if (selections.size <= MAX_SELECTIONS) break
    selections.delete(oldest)
  }
}

async function print(items: readonly Element[], bytesPerRow: number): Promise<string> {
  const texts: string[] = []
  for (let at = 0; at < items.length; at += ROWS_PER_TURN) {
    const some = items.slice(at, at + ROWS_PER_TURN)
    await waitForJsonTurn(Math.ceil(some.length * bytesPerRow))
    texts.push(JSON.stringify(some).slice(1, -1))
  }
  return texts.join(',')
}
