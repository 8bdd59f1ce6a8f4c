/** All entries, as many as there are: the edge searches and sorts, and only what is in sight stands in the page. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { EntryLine, Groups } from '../../operations/console/answers/cache.ts'
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

const SLOW = 250
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
      <Filters filter={filter} groups={groups} />
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

function Filters({ filter, groups }: { readonly filter: EntryFilter; readonly groups: Groups | undefined }) {
  let timer: ReturnType<typeof setTimeout> | undefined
  const change = (field: keyof EntryFilter, after: number) => (event: Event) => {
    const { value } = event.currentTarget as HTMLInputElement
    clearTimeout(timer)
    timer = setTimeout(() => refine({ ...filterOf(place.peek().query), [field]: value }), after)
  }
  return (
    <form class="filters" onSubmit={(event) => event.preventDefault()} aria-label="Filter">
      <label class="wide">
        Search
        <input
          type="search"
          value={filter.search}
          placeholder="words of the URL, or a key"
          onInput={change('search', SLOW)}
          data-search=""
        />
      </label>
      <label>
        Group
        <select value={filter.group} onChange={change('group', 0)}>
          <option value="">any</option>
          {groups?.groups.map(({ group }) => (
            <option key={group}>{group}</option>
          ))}
        </select>
      </label>
      <label>
        Endpoint
        <select value={filter.endpoint} onChange={change('endpoint', 0)}>
          <option value="">any</option>
          {groups?.endpoints.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
      </label>
      <label>
        Scope
        <select value={filter.scope} onChange={change('scope', 0)}>
          <option value="">any</option>
          <option value="everyone">everyone</option>
          <option value="rights">some rights</option>
        </select>
      </label>
      <label>
        Tag
        <input value={filter.tag} placeholder="agent:001" onInput={change('tag', SLOW)} />
      </label>
    </form>
  )
}
