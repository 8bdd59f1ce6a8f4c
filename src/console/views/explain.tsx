/** Would the next request of a URL hit, and why? */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { Explanation } from '../../admin/console/api-types.ts'
import { ask } from '../api.ts'
import { time } from '../format.ts'
import { Pair } from '../pair.tsx'
import { place, refine } from '../place.ts'

export function Explain() {
  const url = place.value.query.get('url') ?? ''
  const found = useSignal<Explanation | undefined>(undefined)
  const fault = useSignal<string | undefined>(undefined)
  const find = async (asked: string): Promise<void> => {
    fault.value = undefined
    try {
      found.value = await ask<Explanation>(`/api/explain?url=${encodeURIComponent(asked)}`)
    } catch (error) {
      found.value = undefined
      fault.value = (error as Error).message
    }
  }
  // once, for an address that names a URL
  useEffect(() => void (url !== '' && find(url)), [])
  const submit = (event: SubmitEvent): void => {
    event.preventDefault()
    const asked = String(new FormData(event.currentTarget as HTMLFormElement).get('url') ?? '').trim()
    refine({ url: asked })
    void find(asked)
  }
  return (
    <>
      <form class="filters" onSubmit={submit}>
        <label class="wide">
          Path and query of a GET
          <input
            name="url"
            defaultValue={url}
            placeholder="/agents?status=active&limit=20"
            data-search=""
            spellcheck={false}
            required
            pattern="/.*"
            title="A path: it begins with /"
          />
        </label>
        <button type="submit">Explain</button>
      </form>
      <div role="status">
        {fault.value !== undefined && <p class="warning">{fault.value}</p>}
        {found.value !== undefined && <Found found={found.value} />}
      </div>
    </>
  )
}

function Found({ found }: { readonly found: Explanation }) {
  const { endpoint, kept, why, url, group, scope, tags, key, next, droppedBy = [] } = found
  return (
    <>
      <p class="verdict">
        <span class={`pill ${next?.hit ? 'good' : kept ? 'warn' : ''}`}>
          {next?.hit ? 'hit' : kept ? 'miss' : 'never kept'}
        </span>
        {kept ? next?.reason : why}
      </p>
      <dl class="pairs codes">
        {endpoint !== undefined && <Pair name="Endpoint" value={endpoint} />}
        {url !== undefined && <Pair name="Canonical URL" value={url} />}
        {next?.age !== undefined && <Pair name="Age" value={time(next.age)} />}
        {next?.timeLeft !== undefined && (
          <Pair name={next.timeLeft > 0 ? 'Fresh for' : 'Stale since'} value={time(Math.abs(next.timeLeft))} />
        )}
        {group !== undefined && <Pair name="Group" value={group} />}
        {scope !== undefined && <Pair name="Scope" value={scope} />}
        {tags !== undefined && <Pair name="Tags" value={tags.join(' ')} />}
        {key !== undefined && <Pair name="Key" value={key} />}
      </dl>
      {droppedBy.length > 0 && (
        <>
          <h2>Dropped by</h2>
          <ul class="mono">
            {droppedBy.map(({ write, when }) => (
              <li key={write}>
                {write} {when !== undefined && <span class="quiet">when {when.join(' or ')}</span>}
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  )
}
