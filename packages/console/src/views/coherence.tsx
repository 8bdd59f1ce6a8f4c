/** A check of coherence that an operator starts: whether replicas serve what was invalidated, and when they see it. */
import { useSignal } from '@preact/signals'
import type { Coherence } from '../../../../src/admin/console/cache-types.ts'
import { callApi } from '../api.ts'
import type { ExportRow } from '../export.ts'
import { formatCount, formatDuration } from '../format.ts'
import { type Column, Table } from '../table.tsx'

const columns: readonly Column[] = [
  'Replica',
  ['Reads', 'number'],
  ['Stale', 'number'],
  ['Median delay', 'number'],
  ['Max delay', 'number'],
]

/** `mayCheck`: whether the operator may purge, which the check needs. */
export function CoherenceSection({ mayCheck }: { readonly mayCheck: boolean }) {
  const isRunning = useSignal(false)
  const result = useSignal<Coherence | undefined>(undefined)
  const error = useSignal<string | undefined>(undefined)
  const check = async (): Promise<void> => {
    if (isRunning.value) return
    isRunning.value = true
    error.value = undefined
    try {
      result.value = await callApi<Coherence>('/api/coherence', {})
    } catch (fault) {
      error.value = (fault as Error).message
    }
    isRunning.value = false
  }
  return (
    <section aria-labelledby="coherence">
      <div class="title coherence">
        <h3 id="coherence">Coherence</h3>
        {/* A disabled button would lose the focus. */}
        {mayCheck && (
          <button type="button" aria-disabled={isRunning.value} onClick={() => void check()}>
            {isRunning.value ? 'Checking …' : 'Check coherence'}
          </button>
        )}
      </div>
      <p class="quiet">
        A check invalidates a test entry of the cache through one replica after the other, as a write does, and reads it
        through all of them. It sends nothing to the manager, and sees only replicas with this Redis. The command{' '}
        <code>manager-edge verify-coherence</code> checks any replicas with real requests.
        {!mayCheck && ' A check from here needs the permission cache:purge.'}
      </p>
      <div role="status">
        {error.value !== undefined && <p class="warning">The check failed: {error.value}.</p>}
        {result.value !== undefined && <Outcome result={result.value} />}
      </div>
      {result.value !== undefined && <ReplicaTable result={result.value} />}
    </section>
  )
}

function Outcome({ result: { rounds, replicas, missing, failure } }: { readonly result: Coherence }) {
  const stale = replicas.reduce((all, each) => all + each.stale, 0)
  return (
    <>
      <p class={stale > 0 ? 'warning' : undefined}>
        {formatCount(rounds)} rounds through {formatCount(replicas.length)} replicas: {formatCount(stale)} stale reads.
      </p>
      {missing.length > 0 && (
        <p class="warning">
          Not checked: {missing.join(', ')}. A replica does not answer if its version is older, its cache is disabled,
          or Redis is unreachable for it.
        </p>
      )}
      {failure !== undefined && <p class="warning">The check {failure}.</p>}
    </>
  )
}

function ReplicaTable({ result: { replicas } }: { readonly result: Coherence }) {
  return (
    <Table
      label="Coherence of the replicas"
      columns={columns}
      kind="coherence"
      exported={{ name: 'coherence', rows: () => replicas.map((each): ExportRow => ({ ...each })) }}
    >
      <tbody>
        {replicas.map(({ replica, reads, stale, medianDelayMs, maxDelayMs }) => (
          <tr key={replica}>
            <th scope="row">{replica}</th>
            <td class="number">{formatCount(reads)}</td>
            <td class={stale > 0 ? 'number bad' : 'number'}>{formatCount(stale)}</td>
            <td class="number">{formatDuration(medianDelayMs)}</td>
            <td class="number">{formatDuration(maxDelayMs)}</td>
          </tr>
        ))}
      </tbody>
    </Table>
  )
}
