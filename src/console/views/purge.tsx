/** The purge dialog: its cost in advance, and the same purge as a command. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { PurgeCost, PurgeRequest } from '../../admin/console/api-types.ts'
import { callApi } from '../api.ts'
import { Dialog } from '../dialog.tsx'
import { formatBytes, formatCount, formatDuration } from '../format.ts'

export type PurgeTarget = Pick<PurgeRequest, 'group' | 'key'> & { readonly description: string }

interface PurgeProps {
  readonly target: PurgeTarget
  /** The address at which clients reach the edge. */
  readonly url: string
  readonly user: string
  onClose(): void
  onPurged(): void
}

export function Purge({ target: { description, ...names }, url, user, onClose, onPurged }: PurgeProps) {
  const soft = useSignal(false)
  const cost = useSignal<PurgeCost | undefined>(undefined)
  const done = useSignal<PurgeCost | undefined>(undefined)
  const failure = useSignal<string | undefined>(undefined)
  const send = (preview: boolean) => callApi<PurgeCost>('/api/purge', { ...names, soft: soft.value, preview })
  const fail = (error: unknown): void => {
    failure.value = (error as Error).message
  }
  // The preview is requested once, when the dialog opens.
  useEffect(
    () =>
      void send(true).then((found) => {
        cost.value = found
      }, fail),
    [],
  )
  const purge = (): Promise<void> =>
    send(false).then((purged) => {
      done.value = purged
      onPurged()
    }, fail)
  return (
    <Dialog title={`Purge ${description}`} onClose={onClose}>
      {failure.value !== undefined && <p class="warning">{failure.value}</p>}
      {done.value !== undefined ? (
        <p role="status">
          {soft.value ? 'Marked as stale' : 'Removed'}: {describeCost(done.value)}
        </p>
      ) : (
        <>
          <p role="status" class="cost">
            {cost.value === undefined
              ? 'Counting entries …'
              : `${describeCost(cost.value)} Refill cost: ${formatDuration(cost.value.seconds * 1000)} of node time.`}
          </p>
          <ModeChoice
            soft={soft.value}
            onChange={(chosen) => {
              soft.value = chosen
            }}
          />
          {soft.value && cost.value !== undefined && <NeverStale cost={cost.value} />}
          <Command text={curl({ url, user, ...names, soft: soft.value })} />
          <div class="buttons">
            <button type="button" onClick={onClose}>
              Cancel
            </button>
            <button type="button" class="danger" disabled={cost.value === undefined} onClick={() => void purge()}>
              {actionOf(soft.value, cost.value)}
            </button>
          </div>
        </>
      )}
    </Dialog>
  )
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

/** The URLs are in the title, because there may be a hundred. */
function NeverStale({ cost: { neverStale } }: { readonly cost: PurgeCost }) {
  if (neverStale.entries === 0) return null
  return (
    <p class="quiet" title={neverStale.urls.join('\n')}>
      {entriesOf(neverStale)} never served stale: the next request waits for a node.
    </p>
  )
}

function actionOf(soft: boolean, cost: PurgeCost | undefined): string {
  const entries = cost === undefined ? '…' : entriesOf(cost)
  return soft ? `Mark ${entries} as stale` : `Purge ${entries}`
}

function describeCost(cost: PurgeCost): string {
  return `${entriesOf(cost)}, ${formatBytes(cost.bytes)}.`
}

function entriesOf({ entries }: Pick<PurgeCost, 'entries'>): string {
  return `${formatCount(entries)} ${entries === 1 ? 'entry' : 'entries'}`
}

interface CurlOptions extends Omit<PurgeTarget, 'description'>, Pick<PurgeProps, 'url' | 'user'> {
  readonly soft: boolean
}

/** Returns the purge as a shell command. Each word is quoted, since a user name may contain any character. */
function curl({ url, user, group, key, soft }: CurlOptions): string {
  const query = [key === undefined ? '' : `key=${key}`, soft ? 'soft=true' : ''].filter(Boolean).join('&')
  const path = `/cache${group === undefined ? '' : `/${group}`}${query === '' ? '' : `?${query}`}`
  return `curl -u ${quoted(user)} -X DELETE ${quoted(url + path)}`
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

function Command({ text }: { readonly text: string }) {
  const copied = useSignal(false)
  const copy = (): void => {
    navigator.clipboard?.writeText(text).then(
      () => {
        copied.value = true
      },
      () => undefined,
    )
  }
  return (
    <div class="command">
      <code>{text}</code>
      <button type="button" class="small" onClick={copy}>
        {copied.value ? 'Copied' : 'Copy'}
      </button>
    </div>
  )
}
