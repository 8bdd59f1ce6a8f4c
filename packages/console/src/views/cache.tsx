/** The cache: groups, entries, and an explanation of what it does with a URL. */
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import type { Now } from '../../server/api-types.ts'
import type { GroupSummary, Groups } from '../../server/cache-types.ts'
import { usePoll } from '../api.ts'
import { formatBytes, formatCount, formatDuration, formatPercent, NONE } from '../format.ts'
import { navigate, route } from '../route.ts'
import { type Column, Table } from '../table.tsx'
import { groupRowOf } from './cache-exports.ts'
import { CapacitySection } from './capacity.tsx'
import { describeEmptyCache } from './empty-cache.ts'
import { Entries } from './entries.tsx'
import { Explain } from './explain.tsx'
import { Purge, type PurgeTarget } from './purge.tsx'
import { Snapshots } from './snapshots.tsx'

const POLL_INTERVAL_MS = 5000
const PARTS = [
  ['groups', 'Groups'],
  ['entries', 'Entries'],
  ['snapshots', 'Snapshots'],
  ['explain', 'Explain a URL'],
] as const

export function CacheView({ now }: { readonly now: Now | undefined }) {
  const { part = 'groups' } = route.value
  const { data, error, reload } = usePoll<Groups>('/api/groups', POLL_INTERVAL_MS)
  const purging = useSignal<PurgeTarget | undefined>(undefined)
  const changes = useSignal(0)
  const purge =
    now?.operator.mayPurge === true
      ? (target: PurgeTarget) => {
          purging.value = target
        }
      : undefined
  return (
    <>
      <div class="title">
        <h1>Cache</h1>
        <nav class="parts" aria-label="Cache">
          {PARTS.map(([name, title]) => (
            <a key={name} href={`#/cache/${name}`} aria-current={name === part ? 'page' : undefined}>
              {title}
            </a>
          ))}
        </nav>
        {purge !== undefined && (
          <button type="button" class="right" onClick={() => purge({ description: 'everything' })}>
            Purge everything …
          </button>
        )}
      </div>
      {part === 'groups' && (
        <Loaded data={data} error={error} show={(groups) => <GroupTable data={groups} now={now} purge={purge} />} />
      )}
      {part === 'groups' && <CapacitySection />}
      {part === 'entries' && <Entries now={now} groups={data} purge={purge} changes={changes.value} />}
      {part === 'snapshots' && (
        <Loaded data={data} error={error} show={({ snapshots }) => <Snapshots snapshots={snapshots} />} />
      )}
      {part === 'explain' && <Explain ports={now?.edge.ports ?? []} />}
      {purging.value !== undefined && (
        <Purge
          target={purging.value}
          ports={now?.edge.ports ?? []}
          user={now?.operator.name ?? ''}
          isUnreachable={now?.cache.unreachable === true}
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

interface LoadedProps {
  readonly data: Groups | undefined
  readonly error: string | undefined
  show(data: Groups): ComponentChildren
}

/** Shows an error in place of the data: earlier data beside it would look like the answer. */
function Loaded({ data, error, show }: LoadedProps) {
  if (error !== undefined) {
    return (
      <p class="warning" role="status">
        {error}
      </p>
    )
  }
  return <>{data === undefined ? <p class="quiet">Loading …</p> : show(data)}</>
}

interface GroupTableProps {
  readonly data: Groups
  readonly now: Now | undefined
  readonly purge: ((target: PurgeTarget) => void) | undefined
}

/** `hasDivergence`: hits are compared with responses of the nodes. */
function groupColumns(hasDivergence: boolean): readonly Column[] {
  const numbers = ['Entries', 'Bytes', 'Hit ratio', 'Oldest', 'Refill cost'].map((title) => [title, 'number'] as const)
  return ['Group', ...numbers, ...(hasDivergence ? [['Differing hits', 'number'] as const] : []), ['Actions', 'hidden']]
}

function GroupTable({ data: { groups, partial }, now, purge }: GroupTableProps) {
  if (partial && groups.length === 0) return <p class="quiet">Scanning the cache …</p>
  if (groups.length === 0) {
    return <p class="empty-cache">{describeEmptyCache({ now, all: 0, hasFilter: false })}</p>
  }
  const sum = (of: (group: GroupSummary) => number) => groups.reduce((total, group) => total + of(group), 0)
  const hasDivergence = groups.some(({ divergence }) => divergence !== undefined)
  return (
    <>
      {partial && (
        <p class="quiet" role="status">
          Still scanning – counts are partial
        </p>
      )}
      <Table
        label="Groups"
        columns={groupColumns(hasDivergence)}
        exported={{ name: 'groups', rows: () => groups.map(groupRowOf) }}
      >
        <tbody>
          {groups.map((summary) => (
            <GroupRow key={summary.group} summary={summary} purge={purge} hasDivergence={hasDivergence} />
          ))}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row">Total</th>
            <td class="number">{formatCount(sum(({ entries }) => entries))}</td>
            <td class="number">{formatBytes(sum((summary) => summary.bytes))}</td>
            <td class="number">
              {ratio(
                sum(({ hits }) => hits),
                sum(({ misses }) => misses),
              )}
            </td>
            <td />
            <td class="number">{formatDuration(sum(({ refillCost }) => refillCost))}</td>
            {hasDivergence && <td />}
            <td />
          </tr>
        </tfoot>
      </Table>
    </>
  )
}

interface GroupRowProps {
  readonly summary: GroupSummary
  readonly purge: ((target: PurgeTarget) => void) | undefined
  readonly hasDivergence: boolean
}

function GroupRow({ summary, purge, hasDivergence }: GroupRowProps) {
  const { group, entries, hits, misses, oldest, refillCost, divergence } = summary
  return (
    <tr>
      <th scope="row">
        <a href={`#/cache/entries?group=${group}`} onClick={() => navigate('cache/entries', { group })}>
          {group}
        </a>
      </th>
      <td class="number">{formatCount(entries)}</td>
      <td class="number">{formatBytes(summary.bytes)}</td>
      <td class="number">{ratio(hits, misses)}</td>
      <td class="number">{formatDuration(oldest === undefined ? undefined : Math.round(oldest / 1000) * 1000)}</td>
      <td class="number">{formatDuration(refillCost)}</td>
      {hasDivergence && (
        <td class="number">
          {divergence === undefined
            ? NONE
            : `${formatCount(divergence.different)} of ${formatCount(divergence.compared)}`}
        </td>
      )}
      <td class="number">
        {purge !== undefined && (
          <button
            type="button"
            class="small"
            onClick={() => purge({ description: `the group ${group}`, group })}
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
  return hits + misses === 0 ? NONE : formatPercent(hits / (hits + misses))
}
