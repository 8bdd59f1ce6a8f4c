/** The entries of the cache. The edge searches and sorts them; the page renders only the visible rows. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { Now } from '../../server/api-types.ts'
import type { EntrySummary, Groups } from '../../server/cache-types.ts'
import { ExportButtons } from '../export-buttons.tsx'
import { Filters, SelectFilter, TextFilter } from '../filters.tsx'
import { formatBytes, formatCount, formatDuration, formatStoredUrl, formatTimeLeft } from '../format.ts'
import { replaceQuery, route } from '../route.ts'
import { entryExport } from './cache-exports.ts'
import { describeEmptyCache } from './empty-cache.ts'
import { Entry } from './entry.tsx'
import { type EntryFilter, type Summary, usePages } from './entry-pages.ts'
import type { PurgeTarget } from './purge.tsx'
import { VirtualGrid } from './virtual-grid.tsx'

interface EntriesProps {
  readonly now: Now | undefined
  readonly groups: Groups | undefined
  readonly purge: ((target: PurgeTarget) => void) | undefined
  /** Incremented by each purge. */
  readonly changes: number
}

const columns = [
  ['url', 'URL', ''],
  ['group', 'Group', ''],
  ['size', 'Size', 'number'],
  ['age', 'Age', 'number'],
  ['timeLeft', 'Expires in', 'number'],
  ['hits', 'Hits', 'number'],
  ['fetchTime', 'Fetch time', 'number'],
] as const

export function Entries({ now, groups, purge, changes }: EntriesProps) {
  const filter = filterOf(route.value.query)
  const pages = usePages(filter, changes)
  const opened = useSignal<EntrySummary | undefined>(undefined)
  useEffect(() => {
    opened.value = undefined
  }, [changes, opened])
  const { total, all, error, partial } = pages.summary
  const target = purgeTargetOf(filter)
  return (
    <>
      <EntryFilters groups={groups} />
      <div class="entry-tools">
        <p class={error === undefined ? 'quiet' : 'warning'} role="status">
          {error ?? describe(pages.summary)}
        </p>
        <button type="button" onClick={pages.refresh}>
          Refresh
        </button>
        {total !== undefined && total > 0 && <ExportButtons label="Entries" source={entryExport(filter)} />}
        {purge !== undefined && target !== undefined && (
          <button type="button" disabled={total === undefined} onClick={() => purge(target)}>
            Purge {target.description} …
          </button>
        )}
      </div>
      {total === 0 && !partial && (
        <div class="empty-cache">
          <p>{describeEmptyCache({ now, all, hasFilter: hasFilter(filter) })}</p>
          {hasFilter(filter) && (
            <button type="button" onClick={() => replaceQuery({ sort: filter.sort })}>
              Clear the search
            </button>
          )}
        </div>
      )}
      {total !== undefined && total > 0 && (
        <VirtualGrid
          label="Entries"
          count={total}
          columns={columns}
          sort={filter.sort}
          onSort={(field) => replaceQuery({ ...filter, sort: filter.sort === field ? `-${field}` : field })}
          row={(at) => pages.row(at)}
          cells={(entry) => [
            formatStoredUrl(entry.url),
            entry.group,
            formatBytes(entry.size),
            formatDuration(entry.age),
            formatTimeLeft(entry.timeLeft),
            formatCount(entry.hits),
            formatDuration(entry.fetchTime),
          ]}
          onOpen={(entry) => {
            opened.value = entry
          }}
        />
      )}
      {opened.value !== undefined && (
        <Entry
          entry={opened.value}
          purge={purge}
          onClose={() => {
            opened.value = undefined
          }}
        />
      )}
    </>
  )
}

function describe({ total, all, size, age, partial }: Summary): string {
  if (total === undefined) return 'Loading …'
  const found = `${formatCount(total)} of ${formatCount(all)} entries, ${formatBytes(size)}`
  return partial
    ? `${found}. Still scanning – counts are partial`
    : `${found}. As of ${formatDuration(Math.round(age / 100) * 100)} ago`
}

function hasFilter({ sort: _, ...criteria }: EntryFilter): boolean {
  return Object.values(criteria).some((value) => value !== '')
}

/** A group, an endpoint or a tag alone is purged by its epoch, everything else by the keys of its entries. */
function purgeTargetOf({ sort: _, ...criteria }: EntryFilter): PurgeTarget | undefined {
  const [first, ...others] = Object.entries(criteria).filter(([, value]) => value !== '')
  if (first === undefined) return undefined
  const [name, value] = first
  if (others.length === 0 && (name === 'group' || name === 'endpoint' || name === 'tag')) {
    return { description: `the ${name} ${value}`, [name]: value }
  }
  return { description: 'this search', search: criteria }
}

function filterOf(query: URLSearchParams): EntryFilter {
  const get = (name: string) => query.get(name) ?? ''
  return {
    search: get('search'),
    group: get('group'),
    endpoint: get('endpoint'),
    tag: get('tag'),
    scope: get('scope'),
    sort: get('sort') || 'url',
  }
}

function EntryFilters({ groups }: { readonly groups: Groups | undefined }) {
  return (
    <Filters>
      <TextFilter name="search" label="Search" placeholder="parts of the URL, or a key" search wide />
      <SelectFilter name="group" label="Group" choices={groups?.groups.map(({ group }) => group) ?? []} />
      <SelectFilter name="endpoint" label="Endpoint" choices={groups?.endpoints ?? []} />
      <SelectFilter name="scope" label="Scope" choices={['everyone', ['rights', 'certain permissions']]} />
      <TextFilter name="tag" label="Tag" placeholder="agent:001" />
    </Filters>
  )
}
