/** Rows of the tables of the Cache view, for the export. */
import type { EntryPage, EntrySummary, GroupSummary } from '../../server/cache-types.ts'
import { callApi } from '../api.ts'
import type { ExportRow } from '../export.ts'
import type { TableExport } from '../export-buttons.tsx'
import { formatCount } from '../format.ts'
import { queryText } from '../route.ts'
import type { EntryFilter } from './entry-pages.ts'

/** The limit of the API. */
const PAGE_ENTRIES = 500
/** While the edge still reads the index, a response takes up to a second. */
const SCAN_POLL_INTERVAL_MS = 100

/** Exports all entries of the filter: the list shows and holds only a part of them. */
export function entryExport(filter: EntryFilter): TableExport {
  return {
    name: 'entries',
    async rows(onProgress) {
      const rows: EntrySummary[] = []
      for (;;) {
        const page = await fetchPage(filter, rows.length)
        rows.push(...page.items)
        if (page.items.length < PAGE_ENTRIES || rows.length >= page.total) return rows.map(exportRowOf)
        onProgress(`Exporting ${formatCount(rows.length)} of ${formatCount(page.total)} …`)
      }
    },
  }
}

/** Returns a page of the whole index: pages of one that is still being read would overlap. */
async function fetchPage(filter: EntryFilter, offset: number): Promise<EntryPage> {
  const path = `/api/entries?${queryText(filter)}&offset=${offset}&limit=${PAGE_ENTRIES}`
  const page = await callApi<EntryPage>(path)
  if (!page.partial) return page
  await new Promise((resolve) => setTimeout(resolve, SCAN_POLL_INTERVAL_MS))
  return fetchPage(filter, offset)
}

function exportRowOf(entry: EntrySummary): ExportRow {
  const { url, group, endpoint, scope, tags, size, age, timeLeft, hits, fetchTime, key } = entry
  const times = { ageMs: Math.round(age), expiresInMs: Math.round(timeLeft), fetchTimeMs: Math.round(fetchTime) }
  return { url, group, endpoint, scope, tags, sizeBytes: size, hits, ...times, key }
}

export function groupRowOf({
  group,
  entries,
  bytes,
  hits,
  misses,
  oldest,
  refillCost,
  divergence,
}: GroupSummary): ExportRow {
  const comparison = { comparedHits: divergence?.compared, differingHits: divergence?.different }
  return { group, entries, sizeBytes: bytes, hits, misses, oldestMs: oldest, refillCostMs: refillCost, ...comparison }
}
