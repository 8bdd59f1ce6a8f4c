/** One entry in detail. */
import type { EntryDetails, EntrySummary } from '../../server/cache-types.ts'
import { usePoll } from '../api.ts'
import { Contract } from '../contract.tsx'
import { Dialog } from '../dialog.tsx'
import { formatBytes, formatCount, formatDuration, formatStoredUrl, formatTimeLeft, NONE } from '../format.ts'
import { Property } from '../property.tsx'
import { navigate, queryText } from '../route.ts'
import type { PurgeTarget } from './purge.tsx'

interface EntryProps {
  readonly entry: EntrySummary
  readonly purge: ((target: PurgeTarget) => void) | undefined
  onClose(): void
}

const POLL_INTERVAL_MS = 10_000

export function Entry({ entry, purge, onClose }: EntryProps) {
  const { data, error } = usePoll<EntryDetails>(`/api/entries/${entry.key}`, POLL_INTERVAL_MS)
  const shown = data ?? entry
  const encodings = Object.entries(data?.encodings ?? {}).map(([name, size]) => `${name} ${formatBytes(size)}`)
  return (
    <Dialog title={formatStoredUrl(entry.url)} drawer onClose={onClose}>
      {error === undefined ? (
        <dl class="pairs codes">
          <Property name="Endpoint" value={shown.endpoint} />
          <Contract of={shown.endpoint} />
          <Property name="Permission" value={data?.permission ?? NONE} />
          <Property name="Group" value={shown.group} />
          <Property
            name="Scope"
            value={shown.scope === 'everyone' ? 'everyone' : `callers with the permissions ${shown.scope}`}
          />
          <Property name="Age" value={formatDuration(shown.age)} />
          <Property
            name={(data?.freshFor ?? 1) > 0 ? 'Fresh for' : 'Stale since'}
            value={data?.freshFor === undefined ? NONE : formatDuration(Math.abs(data.freshFor))}
          />
          <Property name="Expires in" value={formatTimeLeft(shown.timeLeft)} />
          <Property
            name="Size"
            value={`${formatBytes(shown.size)}${encodings.length > 0 ? ` (${encodings.join(', ')})` : ''}`}
          />
          <Property name="Hits" value={formatCount(shown.hits)} />
          <Property name="Fetch time" value={formatDuration(shown.fetchTime)} />
          <Tags tags={shown.tags} onClose={onClose} />
          <Property name="Entity tag" value={data?.etag || NONE} />
          <Property name="In local tier" value={data?.etag === undefined ? NONE : data.local ? 'yes' : 'no'} />
          {data?.fenced && (
            <Property name="Write fence" value="a write to the data is in progress, or its outcome is unknown" />
          )}
          <Property name="Key" value={shown.key} />
        </dl>
      ) : (
        <p class="warning" role="status">
          {error}
        </p>
      )}
      <div class="buttons">
        <button type="button" onClick={() => navigate('cache/explain', { url: entry.url })}>
          Explain the URL
        </button>
        {purge !== undefined && (
          <>
            <button
              type="button"
              onClick={() => purge({ description: `the endpoint ${entry.endpoint}`, endpoint: entry.endpoint })}
            >
              Purge the endpoint …
            </button>
            <button
              type="button"
              class="danger-line"
              onClick={() => purge({ description: 'one entry', keys: [entry.key] })}
            >
              Purge …
            </button>
          </>
        )}
      </div>
      {error === undefined && (
        <>
          <h3>Body</h3>
          {data === undefined ? <p class="quiet">Loading …</p> : <Body data={data} />}
        </>
      )}
    </Dialog>
  )
}

/** Each tag leads to its entries, where it can be purged. */
function Tags({ tags, onClose }: { readonly tags: readonly string[]; onClose(): void }) {
  return (
    <div>
      <dt>Tags</dt>
      <dd class="entry-tags">
        {tags.map((tag) => (
          <a key={tag} href={`#/cache/entries?${queryText({ tag })}`} onClick={onClose}>
            {tag}
          </a>
        ))}
      </dd>
    </div>
  )
}

function Body({ data: { body } }: { readonly data: EntryDetails }) {
  if (!body.shown) return <p class="quiet">Not shown. {body.reason}</p>
  return (
    <>
      {body.truncated && <p class="quiet">Truncated: only the first 256 KiB are shown.</p>}
      <pre tabIndex={0}>{indent(body.text)}</pre>
    </>
  )
}

function indent(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2)
  } catch {
    return text
  }
}
