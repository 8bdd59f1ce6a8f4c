/** A purge, with what it costs before it is done, and the same as a command. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { PurgeCost } from '../../admin/console/api-types.ts'
import { ask } from '../api.ts'
import { Dialog } from '../dialog.tsx'
import { bytes, count, time } from '../format.ts'
import type { Purging } from './cache.tsx'

interface PurgeProps {
  readonly what: Purging
  /** Where clients reach the edge. */
  readonly url: string
  readonly user: string
  onClose(): void
  onPurged(): void
}

export function Purge({ what: { what, ...named }, url, user, onClose, onPurged }: PurgeProps) {
  const soft = useSignal(false)
  const cost = useSignal<PurgeCost | undefined>(undefined)
  const done = useSignal<PurgeCost | undefined>(undefined)
  const fault = useSignal<string | undefined>(undefined)
  const order = (preview: boolean) => ask<PurgeCost>('/api/purge', { ...named, soft: soft.value, preview })
  const tell = (error: unknown): void => {
    fault.value = (error as Error).message
  }
  // what would go is asked once, when the dialog opens
  useEffect(
    () =>
      void order(true).then((found) => {
        cost.value = found
      }, tell),
    [],
  )
  const purge = (): Promise<void> =>
    order(false).then((gone) => {
      done.value = gone
      onPurged()
    }, tell)
  return (
    <Dialog title={`Purge ${what}`} onClose={onClose}>
      {fault.value !== undefined && <p class="warning">{fault.value}</p>}
      {done.value !== undefined ? (
        <p role="status">
          {soft.value ? 'Made stale' : 'Dropped'}: {inWords(done.value)}
        </p>
      ) : (
        <>
          <p role="status" class="cost">
            {cost.value === undefined
              ? 'Counting what would go …'
              : `${inWords(cost.value)} Filling it again costs ${time(cost.value.seconds * 1000)} of the manager’s time.`}
          </p>
          <How
            soft={soft.value}
            onChange={(chosen) => {
              soft.value = chosen
            }}
          />
          <Command text={curl({ url, user, ...named, soft: soft.value })} />
          <div class="buttons">
            <button type="button" onClick={onClose}>
              Keep it
            </button>
            <button type="button" class="danger" disabled={cost.value === undefined} onClick={() => void purge()}>
              {soft.value ? 'Make stale' : 'Purge'} {cost.value === undefined ? '' : entriesOf(cost.value)}
            </button>
          </div>
        </>
      )}
    </Dialog>
  )
}

interface HowProps {
  readonly soft: boolean
  onChange(soft: boolean): void
}

function How({ soft, onChange }: HowProps) {
  const ways = [
    [false, 'drop it: the next request goes to the manager'],
    [true, 'make it stale: served once more while it is fetched anew'],
  ] as const
  return (
    <fieldset>
      <legend>How</legend>
      {ways.map(([way, does]) => (
        <label key={does}>
          <input type="radio" name="how" checked={soft === way} onChange={() => onChange(way)} /> {does}
        </label>
      ))}
    </fieldset>
  )
}

function inWords(cost: PurgeCost): string {
  return `${entriesOf(cost)}, ${bytes(cost.bytes)}.`
}

function entriesOf({ entries }: PurgeCost): string {
  return `${count(entries)} ${entries === 1 ? 'entry' : 'entries'}`
}

interface PurgeByCurl extends Omit<Purging, 'what'>, Pick<PurgeProps, 'url' | 'user'> {
  readonly soft: boolean
}

/** The same for a shell: each word is quoted, whatever a user is called. */
function curl({ url, user, group, key, soft }: PurgeByCurl): string {
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
