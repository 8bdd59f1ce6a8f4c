/** What is kept: by group, entry by entry, and why a URL hits or does not. */
import { useSignal } from '@preact/signals'
import type { GroupLine, Groups, Now, PurgeOrder } from '../../admin/console/api-types.ts'
import { usePoll } from '../api.ts'
import { bytes, count, NONE, percent, time } from '../format.ts'
import { go, place } from '../place.ts'
import { type Column, Table } from '../table.tsx'
import { Entries } from './entries.tsx'
import { Explain } from './explain.tsx'
import { Purge } from './purge.tsx'

const EVERY = 5000
const parts = [
  ['groups', 'Groups'],
  ['entries', 'Entries'],
  ['explain', 'Explain a URL'],
] as const

export type Purging = Pick<PurgeOrder, 'group' | 'key'> & { readonly what: string }

export function CacheView({ now }: { readonly now: Now | undefined }) {
  const { part = 'groups' } = place.value
  const { data, fault, reload } = usePoll<Groups>('/api/groups', EVERY)
  const purging = useSignal<Purging | undefined>(undefined)
  const changes = useSignal(0)
  const purge =
    now?.you.mayPurge === true
      ? (what: Purging) => {
          purging.value = what
        }
      : undefined
  return (
    <>
      <div class="title">
        <h1>Cache</h1>
        <nav class="parts" aria-label="Cache">
          {parts.map(([name, title]) => (
            <a key={name} href={`#/cache/${name}`} aria-current={name === part ? 'page' : undefined}>
              {title}
            </a>
          ))}
        </nav>
        {purge !== undefined && (
          <button type="button" class="right" onClick={() => purge({ what: 'everything' })}>
            Purge everything …
          </button>
        )}
      </div>
      {part === 'groups' &&
        (data === undefined ? (
          <p class="quiet">{fault ?? 'Asking the edge …'}</p>
        ) : (
          <GroupTable data={data} purge={purge} />
        ))}
      {part === 'entries' && <Entries groups={data} purge={purge} changes={changes.value} />}
      {part === 'explain' && <Explain />}
      {purging.value !== undefined && (
        <Purge
          what={purging.value}
          url={now?.edge.url ?? ''}
          user={now?.you.name ?? ''}
          onClose={() => {
            purging.value = undefined
          }}
          onPurged={() => {
            changes.value += 1
            reload()
          }}
        />
      )}
    </>
  )
}

interface GroupTableProps {
  readonly data: Groups
  readonly purge: ((what: Purging) => void) | undefined
}

/** Only where answers are compared with what the nodes say. */
const differed: Column = ['Differed', 'number']

function groupColumns(compared: boolean): readonly Column[] {
  const figures = ['Entries', 'Bytes', 'Hit ratio', 'Oldest', 'To fill again'].map(
    (title) => [title, 'number'] as const,
  )
  return ['Group', ...figures, ...(compared ? [differed] : []), ['Actions', 'hidden']]
}

function GroupTable({ data: { groups, unfinished }, purge }: GroupTableProps) {
  if (unfinished && groups.length === 0) return <p class="quiet">The edge reads what is kept …</p>
  if (groups.length === 0) return <p class="quiet">Nothing is kept yet: answers come here as clients ask.</p>
  const sum = (of: (line: GroupLine) => number) => groups.reduce((total, line) => total + of(line), 0)
  const some = groups.some(({ divergence }) => divergence !== undefined)
  return (
    <>
      {unfinished && (
        <p class="quiet" role="status">
          Of those that were read so far: the edge reads on …
        </p>
      )}
      <Table label="Groups" columns={groupColumns(some)}>
        <tbody>
          {groups.map((line) => (
            <GroupRow key={line.group} line={line} purge={purge} some={some} />
          ))}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row">All</th>
            <td class="number">{count(sum(({ entries }) => entries))}</td>
            <td class="number">{bytes(sum((line) => line.bytes))}</td>
            <td class="number">
              {ratio(
                sum(({ hits }) => hits),
                sum(({ misses }) => misses),
              )}
            </td>
            <td />
            <td class="number">{time(sum(({ cost }) => cost))}</td>
            {some && <td />}
            <td />
          </tr>
        </tfoot>
      </Table>
    </>
  )
}

interface GroupRowProps {
  readonly line: GroupLine
  readonly purge: ((what: Purging) => void) | undefined
  readonly some: boolean
}

function GroupRow({ line, purge, some }: GroupRowProps) {
  const { group, entries, hits, misses, oldest, cost, divergence } = line
  return (
    <tr>
      <th scope="row">
        <a href={`#/cache/entries?group=${group}`} onClick={() => go('cache/entries', { group })}>
          {group}
        </a>
      </th>
      <td class="number">{count(entries)}</td>
      <td class="number">{bytes(line.bytes)}</td>
      <td class="number">{ratio(hits, misses)}</td>
      <td class="number">{time(oldest === undefined ? undefined : Math.round(oldest / 1000) * 1000)}</td>
      <td class="number">{time(cost)}</td>
      {some && (
        <td class="number">
          {divergence === undefined ? NONE : `${count(divergence.different)} of ${count(divergence.asked)}`}
        </td>
      )}
      <td class="number">
        {purge !== undefined && (
          <button
            type="button"
            class="small"
            onClick={() => purge({ what: `the group ${group}`, group })}
            aria-label={`Purge the group ${group}`}
          >
            Purge …
          </button>
        )}
      </td>
    </tr>
  )
}

function ratio(hits: number, misses: number): string {
  return hits + misses === 0 ? NONE : percent(hits / (hits + misses))
}
