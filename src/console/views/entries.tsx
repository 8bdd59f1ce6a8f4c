/** All entries, as many as there are: the edge searches and sorts, and only what is in sight stands in the page. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { EntryLine, Groups } from '../../admin/console/api-types.ts'
import { Chosen, Filters, Written } from '../filters.tsx'
import { bytes, count, time } from '../format.ts'
import { place, refine } from '../place.ts'
import type { Purging } from './cache.tsx'
import { Entry } from './entry.tsx'
import { type EntryFilter, type Summary, usePages } from './pages.ts'
import { VirtualGrid } from './virtual-grid.tsx'

interface EntriesProps {
  readonly groups: Groups | undefined
  readonly purge: ((what: Purging) => void) | undefined
  /** Another number after a purge. */
  readonly changes: number
}

const columns = [
  ['url', 'URL', ''],
  ['group', 'Group', ''],
  ['size', 'Size', 'number'],
  ['age', 'Age', 'number'],
  ['timeLeft', 'Kept for', 'number'],
  ['hits', 'Hits', 'number'],
  ['cost', 'Cost', 'number'],
] as const

export function Entries({ groups, purge, changes }: EntriesProps) {
  const filter = filterOf(place.value.query)
  const pages = usePages(filter, changes)
  const opened = useSignal<EntryLine | undefined>(undefined)
  useEffect(() => {
    opened.value = undefined
  }, [changes, opened])
  const { total, fault } = pages.summary
  return (
    <>
      <EntryFilters groups={groups} />
      <p class="quiet" role="status">
        {fault ?? said(pages.summary)}
      </p>
      <VirtualGrid
        label="Entries"
        count={total ?? 0}
        columns={columns}
        sort={filter.sort}
        onSort={(field) => refine({ ...filter, sort: filter.sort === field ? `-${field}` : field })}
        row={(at) => pages.row(at)}
        cells={(line) => [
          line.url,
          line.group,
          bytes(line.size),
          time(line.age),
          time(line.timeLeft),
          count(line.hits),
          time(line.cost),
        ]}
        onOpen={(line) => {
          opened.value = line
        }}
      />
      {opened.value !== undefined && (
        <Entry
          line={opened.value}
          purge={purge}
          onClose={() => {
            opened.value = undefined
          }}
        />
      )}
    </>
  )
}

function said({ total, all, size, age, unfinished }: Summary): string {
  if (total === undefined) return 'Asking the edge …'
  const found = `${count(total)} of ${count(all)} entries, ${bytes(size)}`
  return unfinished ? `${found}, and the edge reads on …` : `${found}; read ${time(Math.round(age / 100) * 100)} ago`
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
      <Written field="search" label="Search" hint="words of the URL, or a key" search wide />
      <Chosen field="group" label="Group" among={groups?.groups.map(({ group }) => group) ?? []} />
      <Chosen field="endpoint" label="Endpoint" among={groups?.endpoints ?? []} />
      <Chosen field="scope" label="Scope" among={['everyone', ['rights', 'some rights']]} />
      <Written field="tag" label="Tag" hint="agent:001" />
    </Filters>
  )
}
