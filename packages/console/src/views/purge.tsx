/** The purge dialog: its cost in advance, its progress, what happened, and the same purge as a command. */
import './purge.css'
import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type { ClientPort, PurgeNames, PurgeRequest, PurgeResult } from '../../../../src/status/view-types.ts'
import type { EntryPage, PurgeCost, Selection } from '../../server/cache-types.ts'
import { callApi } from '../api.ts'
import { Dialog } from '../dialog.tsx'
import { formatBytes, formatCount, formatDuration } from '../format.ts'
import { queryText } from '../route.ts'
import { Command, curl } from './purge-command.tsx'
import { describeReport, entriesOf, type PurgeReport, runPurge } from './purge-run.ts'

export interface PurgeTarget extends PurgeNames {
  readonly description: string
  /** The filters of entries that are purged by their keys. */
  readonly search?: Readonly<Record<string, string>>
}

interface PurgeProps {
  readonly target: PurgeTarget
  readonly ports: readonly ClientPort[]
  readonly user: string
  /** Redis is unreachable. */
  readonly isUnreachable: boolean
  onClose(): void
  onPurged(): void
}

interface Preview {
  readonly cost: PurgeCost
  /** Absent: the names define what is purged. */
  readonly keys?: readonly string[]
  readonly maxKeys: number
}

type State =
  | { readonly step: 'counting' }
  | { readonly step: 'refused'; readonly message: string }
  | { readonly step: 'ready'; readonly preview: Preview }
  | { readonly step: 'running'; readonly preview: Preview; readonly sent: number }
  | { readonly step: 'ended'; readonly report: PurgeReport }

const sendPurge = (request: PurgeRequest): Promise<PurgeResult> => callApi<PurgeResult>('/api/purge', request)

export function Purge({ target, ports, user, isUnreachable, onClose, onPurged }: PurgeProps) {
  const { description, search, ...names } = target
  const soft = useSignal(false)
  const state = useSignal<State>({ step: 'counting' })
  const isStopped = useSignal(false)
  const closeButton = useRef<HTMLButtonElement>(null)
  const current = state.value
  const { step } = current
  // The preview is requested once, when the dialog opens.
  useEffect(() => {
    takePreview(names, search).then(
      (found) => {
        state.value = found
      },
      (error: Error) => {
        state.value = { step: 'refused', message: error.message }
      },
    )
  }, [])
  // A purge in several requests ends when its dialog is closed.
  useEffect(
    () => () => {
      isStopped.value = true
    },
    [],
  )
  // The button that had the focus was removed with the previous step.
  useEffect(() => {
    if (step === 'ended') closeButton.current?.focus()
  }, [step])
  const purge = async (preview: Preview): Promise<void> => {
    state.value = { step: 'running', preview, sent: 0 }
    const plan = { names, ...preview, soft: soft.value }
    const report = await runPurge(plan, {
      send: sendPurge,
      onProgress: (sent) => {
        state.value = { step: 'running', preview, sent }
      },
      isStopped: () => isStopped.peek(),
    })
    const isWhole = report.failure === undefined && report.isStopped === undefined && !report.pending
    const remaining = search === undefined || soft.value || !isWhole ? undefined : await countMatches(search)
    state.value = { step: 'ended', report: { ...report, ...(remaining !== undefined && { remaining }) } }
    onPurged()
  }
  return (
    <Dialog title={`Purge ${description}`} onClose={onClose}>
      <div role="status" class="purge-state">
        <Status state={current} isStopping={isStopped.value} />
      </div>
      {current.step === 'ready' && (
        <>
          {isUnreachable && (
            <p class="warning">
              Redis is unreachable, so its entries are not counted. A purge is pending until Redis is reachable again.
            </p>
          )}
          <Bounds keys={current.preview.keys !== undefined} isSearch={search !== undefined} />
          <ModeChoice
            soft={soft.value}
            onChange={(chosen) => {
              soft.value = chosen
            }}
          />
          {soft.value && <NeverStale cost={current.preview.cost} />}
          {search === undefined && <Command text={curl({ ports, user, ...names, soft: soft.value })} />}
        </>
      )}
      {current.step === 'running' && <Progress preview={current.preview} sent={current.sent} />}
      <div class="buttons">
        {current.step === 'running' && current.preview.keys !== undefined && (
          <button
            type="button"
            onClick={() => {
              isStopped.value = true
            }}
          >
            Stop
          </button>
        )}
        {step !== 'running' && (
          <button type="button" ref={closeButton} onClick={onClose}>
            {step === 'ended' || step === 'refused' ? 'Close' : 'Cancel'}
          </button>
        )}
        {(step === 'counting' || step === 'ready' || step === 'running') && (
          <button
            type="button"
            class="danger"
            disabled={current.step !== 'ready' || (current.preview.keys?.length === 0 && search !== undefined)}
            onClick={() => void (current.step === 'ready' && purge(current.preview))}
          >
            {actionOf(soft.value, current)}
          </button>
        )}
      </div>
    </Dialog>
  )
}

/** A search is previewed as the keys of its entries. */
async function takePreview(names: PurgeNames, search: PurgeTarget['search']): Promise<State> {
  if (search === undefined) {
    const { keys } = names
    const cost = await sendPurge({ ...names, soft: false, preview: true })
    return { step: 'ready', preview: { cost, ...(keys && { keys }), maxKeys: keys?.length ?? 0 } }
  }
  const { total, limit, maxKeys, chosen } = await callApi<Selection>(`/api/selection?${queryText(search)}`)
  if (chosen !== undefined) return { step: 'ready', preview: { ...chosen, maxKeys } }
  return {
    step: 'refused',
    message: `${entriesOf(total)} match the search. A purge of a search removes at most ${formatCount(limit)}. Narrow the search, or purge by group, endpoint or tag alone, which has no limit.`,
  }
}

/** Returns undefined if the entries cannot be read: the purge itself succeeded. */
async function countMatches(search: Readonly<Record<string, string>>): Promise<number | undefined> {
  try {
    return (await callApi<EntryPage>(`/api/entries?${queryText(search)}&limit=1&refresh=true`)).total
  } catch {
    return undefined
  }
}

function Status({ state, isStopping }: { readonly state: State; readonly isStopping: boolean }) {
  switch (state.step) {
    case 'counting':
      return <p class="cost">Counting entries …</p>
    case 'refused':
      return <p class="warning">{state.message}</p>
    case 'ready':
      return <p class="cost">{describeCost(state.preview.cost)}</p>
    case 'running':
      return <p class="cost">{isStopping ? 'Stopping …' : describeProgress(state.preview, state.sent)}</p>
    case 'ended':
      return (
        <div class={isIncomplete(state.report) ? 'warning' : undefined}>
          {describeReport(state.report).map((sentence) => (
            <p key={sentence}>{sentence}</p>
          ))}
        </div>
      )
  }
}

function isIncomplete({ failure, isStopped, pending }: PurgeReport): boolean {
  return failure !== undefined || isStopped === true || pending
}

/** Responses are stored all the time, so the dialog states which of them a purge includes. */
function Bounds({ keys, isSearch }: { readonly keys: boolean; readonly isSearch: boolean }) {
  if (!keys) return <p class="quiet">Includes responses that are stored or fetched until the purge.</p>
  return (
    <p class="quiet">
      {isSearch ? 'Removes the entries of this preview only. ' : ''}
      If an entry is fetched again before the purge, the v4 response is purged too.
      {isSearch ? ' Other entries that match the search by then remain.' : ''}
    </p>
  )
}

function Progress({ preview: { keys }, sent }: { readonly preview: Preview; readonly sent: number }) {
  // Without a value, the bar shows that the purge runs, not how far it is.
  const value = keys === undefined || keys.length === sent ? {} : { max: keys.length, value: sent }
  return <progress class="purge-progress" aria-label="Purge" {...value} />
}

interface ModeChoiceProps {
  readonly soft: boolean
  onChange(soft: boolean): void
}

function ModeChoice({ soft, onChange }: ModeChoiceProps) {
  const modes = [
    [false, 'Remove: the next request goes to a node'],
    [true, 'Mark as stale: served while it is refreshed'],
  ] as const
  return (
    <fieldset>
      <legend>Mode</legend>
      {modes.map(([isSoft, label]) => (
        <label key={label}>
          <input type="radio" name="mode" checked={soft === isSoft} onChange={() => onChange(isSoft)} /> {label}
        </label>
      ))}
    </fieldset>
  )
}

function NeverStale({ cost: { neverStale } }: { readonly cost: PurgeCost }) {
  if (neverStale.entries === 0) return null
  return <p class="quiet">{entriesOf(neverStale.entries)} never served stale: the next request waits for a node.</p>
}

function actionOf(soft: boolean, state: State): string {
  if (state.step === 'running') return soft ? 'Marking as stale …' : 'Purging …'
  const entries = state.step === 'ready' ? entriesOf(state.preview.cost.entries) : '…'
  return soft ? `Mark ${entries} as stale` : `Purge ${entries}`
}

function describeCost({ entries, bytes, seconds }: PurgeCost): string {
  const refill = formatDuration(seconds * 1000)
  return `${entriesOf(entries)}, ${formatBytes(bytes)}. Refill cost: ${refill} of node time.`
}

function describeProgress({ keys }: Preview, sent: number): string {
  return keys === undefined ? 'Purging …' : `Purging: ${formatCount(sent)} of ${entriesOf(keys.length)} …`
}
