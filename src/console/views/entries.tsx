/** The entries of the cache. The edge searches and sorts them; the page renders only the visible rows. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { EntrySummary, Groups } from '../../admin/console/api-types.ts'
import { Filters, SelectFilter, TextFilter } from '../filters.tsx'
import { formatBytes, formatCount, formatDuration } from '../format.ts'
import { replaceQuery, route } from '../route.ts'
import { Entry } from './entry.tsx'
import { type EntryFilter, type Summary, usePages } from './entry-pages.ts'
import type { PurgeTarget } from './purge.tsx'
import { VirtualGrid } from './virtual-grid.tsx'

interface EntriesProps {
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

export function Entries({ groups, purge, changes }: EntriesProps) {
  const filter = filterOf(route.value.query)
  const pages = usePages(filter, changes)
  const opened = useSignal<EntrySummary | undefined>(undefined)
  useEffect(() => {
    opened.value = undefined
  }, [changes, opened])
  const { total, error } = pages.summary
  return (
    <>
      <EntryFilters groups={groups} />
      <p class="quiet" role="status">
        {error ?? describe(pages.summary)}
      </p>
      <VirtualGrid
        label="Entries"
        count={total ?? 0}
        columns={columns}
        sort={filter.sort}
        onSort={(field) => replaceQuery({ ...filter, sort: filter.sort === field ? `-${field}` : field })}
        row={(at) => pages.row(at)}
        cells={(entry) => [
          entry.url,
          entry.group,
          formatBytes(entry.size),
          formatDuration(entry.age),
          formatDuration(entry.timeLeft),
          formatCount(entry.hits),
          formatDuration(entry.fetchTime),
        ]}
        onOpen={(entry) => {
          opened.value = entry
        }}
      />
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
