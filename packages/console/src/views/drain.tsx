/** The dialogs that drain a node for maintenance and put it back. */
import { useSignal } from '@preact/signals'
import type { DrainResult } from '../../../../src/status/node-types.ts'
import type { NodeSummary, Nodes } from '../../server/node-types.ts'
import { callApi } from '../api.ts'
import { Dialog } from '../dialog.tsx'
import { formatCount } from '../format.ts'
import { describeDrain } from '../node-state.tsx'
import { queryText } from '../route.ts'
import { DrainFields, type DrainTerms, ExpectedLoadTable, NO_TERMS } from './drain-terms.tsx'
import { Command, quoted } from './purge-command.tsx'

interface DrainProps {
  readonly node: NodeSummary
  readonly data: Nodes
  /** Calls in flight of all replicas. */
  readonly inFlight: number
  readonly user: string
  onClose(): void
  onChanged(): void
}

/** Drains the node, or puts it back if it is drained. */
export function Drain(props: DrainProps) {
  const { node, data, inFlight, user, onClose, onChanged } = props
  const isPuttingBack = node.drain !== undefined
  const isMaster = node.type === 'master' && !isPuttingBack
  const isConfirmed = useSignal(false)
  const isSending = useSignal(false)
  const terms = useSignal<DrainTerms>(NO_TERMS)
  const error = useSignal<string | undefined>(undefined)
  const method = isPuttingBack ? 'DELETE' : 'PUT'
  const path = `/api/nodes/${encodeURIComponent(node.name)}/drain${isPuttingBack ? '' : queryOf(terms.value, isMaster)}`
  const action = isPuttingBack ? `Put back ${node.name}` : `Drain ${node.name}`
  const send = async (): Promise<void> => {
    isSending.value = true
    error.value = undefined
    try {
      await callApi<DrainResult>(path, undefined, method)
      onChanged()
      onClose()
    } catch (fault) {
      error.value = (fault as Error).message
    }
    isSending.value = false
  }
  return (
    <Dialog title={action} onClose={onClose}>
      {node.drain !== undefined ? (
        <Return drain={node.drain} />
      ) : (
        <>
          <DrainFields
            terms={terms.value}
            maxReasonChars={data.maxReasonChars}
            onChange={(changed) => (terms.value = changed)}
          />
          <Effects node={node} inFlight={inFlight} hasEnd={terms.value.duration !== ''} />
          <ExpectedLoadTable node={node} data={data} />
        </>
      )}
      <p class="quiet">
        {data.drainsAreShared
          ? 'This applies to all replicas that share the Redis, and outlives their restarts.'
          : 'There is no Redis: this applies to this replica only, and a drain ends when its process ends.'}
      </p>
      {isMaster && <MasterConfirmation isConfirmed={isConfirmed.value} onChange={(is) => (isConfirmed.value = is)} />}
      <Command text={commandOf(user, method, path)} />
      {error.value !== undefined && (
        <p class="warning" role="alert">
          {error.value}
        </p>
      )}
      <div class="buttons">
        <button type="button" onClick={onClose}>
          Cancel
        </button>
        <button
          type="button"
          class={isPuttingBack ? undefined : 'danger'}
          disabled={isSending.value || (isMaster && !isConfirmed.value)}
          onClick={() => void send()}
        >
          {action}
        </button>
      </div>
    </Dialog>
  )
}

function queryOf({ reason, duration }: DrainTerms, isMaster: boolean): string {
  const query = queryText({ confirm: isMaster ? 'master' : '', for: duration, reason: reason.trim() })
  return query === '' ? '' : `?${query}`
}

function Return({ drain }: { readonly drain: NonNullable<NodeSummary['drain']> }) {
  return (
    <>
      <p>Drained: {describeDrain(drain)}.</p>
      <p>The node receives calls again at once. What was known of its failures is forgotten.</p>
    </>
  )
}

interface EffectsProps extends Pick<DrainProps, 'node' | 'inFlight'> {
  readonly hasEnd: boolean
}

function Effects({ node: { name }, inFlight, hasEnd }: EffectsProps) {
  return (
    <ul>
      <li>
        Calls in flight ({formatCount(inFlight)} now) end with their response. Queued and further calls are not sent,
        and no probes.
      </li>
      <li>Reads that each node can answer go to other nodes.</li>
      <li>
        Requests that need {name} fail with 503 and error 920, or get a stale response. Joined responses list it in
        failed_nodes with error 920.
      </li>
      <li>
        {hasEnd
          ? 'It returns by itself at the end, or earlier if an operator puts it back.'
          : 'It stays drained until an operator puts it back. An alert fires after a day.'}
      </li>
    </ul>
  )
}

interface MasterConfirmationProps {
  readonly isConfirmed: boolean
  onChange(isConfirmed: boolean): void
}

function MasterConfirmation({ isConfirmed, onChange }: MasterConfirmationProps) {
  return (
    <div class="warning">
      <p>
        This is the master. All writes fail with error 920 until it is put back, and so do all reads that only the
        master can answer. In the v4 layout that is every request.
      </p>
      <label class="confirmation">
        <input
          type="checkbox"
          checked={isConfirmed}
          onChange={({ currentTarget }) => onChange(currentTarget.checked)}
        />{' '}
        Drain the master, although writes fail
      </label>
    </div>
  )
}

function commandOf(user: string, method: string, path: string): string {
  return `curl -u ${quoted(user)} -X ${method} -H 'X-Edge-Console: 1' ${quoted(location.origin + path)}`
}
