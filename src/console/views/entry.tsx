/** One entry in depth. */
import type { EntryDepth, EntryLine } from '../../admin/console/api-types.ts'
import { usePoll } from '../api.ts'
import { Dialog } from '../dialog.tsx'
import { bytes, count, NONE, time } from '../format.ts'
import { Pair } from '../pair.tsx'
import { go } from '../place.ts'
import type { Purging } from './cache.tsx'

interface EntryProps {
  readonly line: EntryLine
  readonly purge: ((what: Purging) => void) | undefined
  onClose(): void
}

const EVERY = 10_000

export function Entry({ line, purge, onClose }: EntryProps) {
  const { data, fault } = usePoll<EntryDepth>(`/api/entries/${line.key}`, EVERY)
  const shown = data ?? line
  const encodings = Object.entries(data?.encodings ?? {}).map(([name, size]) => `${name} ${bytes(size)}`)
  return (
    <Dialog title={line.url} drawer onClose={onClose}>
      {fault !== undefined && <p class="warning">{fault}</p>}
      <dl class="pairs codes">
        <Pair name="Endpoint" value={shown.endpoint} />
        <Pair name="Permission" value={data?.permission ?? NONE} />
        <Pair name="Group" value={shown.group} />
        <Pair name="Scope" value={shown.scope === 'everyone' ? 'everyone' : `callers with the rights ${shown.scope}`} />
        <Pair name="Age" value={time(shown.age)} />
        <Pair
          name="Fresh for"
          value={data?.freshFor === undefined ? NONE : data.freshFor > 0 ? time(data.freshFor) : 'stale'}
        />
        <Pair name="Kept for" value={time(shown.timeLeft)} />
        <Pair name="Size" value={`${bytes(shown.size)}${encodings.length > 0 ? ` (${encodings.join(', ')})` : ''}`} />
        <Pair name="Hits" value={count(shown.hits)} />
        <Pair name="Cost of its fill" value={time(shown.cost)} />
        <Pair name="Tags" value={shown.tags.join(' ')} />
        <Pair name="Entity tag" value={data?.etag ?? NONE} />
        <Pair
          name="Held"
          value={data === undefined ? NONE : data.near ? 'in the memory of this replica too' : 'in the shared store'}
        />
        {data?.fenced && <Pair name="Fence" value="a write to the data is under way, or its outcome is unknown" />}
        <Pair name="Key" value={shown.key} />
      </dl>
      <div class="buttons">
        <button type="button" onClick={() => go('cache/explain', { url: line.url })}>
          Explain its URL
        </button>
        {purge !== undefined && (
          <button type="button" class="danger-line" onClick={() => purge({ what: 'one entry', key: line.key })}>
            Purge …
          </button>
        )}
      </div>
      <h3>Body</h3>
      {data === undefined ? <p class="quiet">Asking the edge …</p> : <Body data={data} />}
    </Dialog>
  )
}

function Body({ data: { body } }: { readonly data: EntryDepth }) {
  if (!body.shown) return <p class="quiet">Not shown. {body.why}</p>
  return (
    <>
      {body.cut && <p class="quiet">Its beginning only: it is long.</p>}
      <pre tabIndex={0}>{pretty(body.text)}</pre>
    </>
  )
}

function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2)
  } catch {
    return text
  }
}
