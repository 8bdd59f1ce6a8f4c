/** Explains what the cache does with the next request for a URL. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { Explanation } from '../../admin/console/api-types.ts'
import { callApi } from '../api.ts'
import { formatDuration } from '../format.ts'
import { Property } from '../property.tsx'
import { replaceQuery, route } from '../route.ts'

export function Explain() {
  const url = route.value.query.get('url') ?? ''
  const found = useSignal<Explanation | undefined>(undefined)
  const failure = useSignal<string | undefined>(undefined)
  const explain = async (target: string): Promise<void> => {
    failure.value = undefined
    try {
      found.value = await callApi<Explanation>(`/api/explain?url=${encodeURIComponent(target)}`)
    } catch (error) {
      found.value = undefined
      failure.value = (error as Error).message
    }
  }
  // Runs once, if the address contains a URL.
  useEffect(() => void (url !== '' && explain(url)), [])
  const submit = (event: SubmitEvent): void => {
    event.preventDefault()
    const target = String(new FormData(event.currentTarget as HTMLFormElement).get('url') ?? '').trim()
    replaceQuery({ url: target })
    void explain(target)
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
            title="A path, which begins with /"
          />
        </label>
        <button type="submit">Explain</button>
      </form>
      <div role="status">
        {failure.value !== undefined && <p class="warning">{failure.value}</p>}
        {found.value !== undefined && <ExplanationDetails found={found.value} />}
      </div>
    </>
  )
}

function ExplanationDetails({ found }: { readonly found: Explanation }) {
  const { endpoint, cacheable, reason, url, group, scope, tags, key, next, invalidatedBy = [] } = found
  return (
    <>
      <p class="verdict">
        <span class={`pill ${next?.hit ? 'good' : cacheable ? 'warn' : ''}`}>
          {next?.hit ? 'hit' : cacheable ? 'miss' : 'never stored'}
        </span>
        {cacheable ? next?.reason : reason}
      </p>
      <dl class="pairs codes">
        {endpoint !== undefined && <Property name="Endpoint" value={endpoint} />}
        {url !== undefined && <Property name="Canonical URL" value={url} />}
        {next?.age !== undefined && <Property name="Age" value={formatDuration(next.age)} />}
        {next?.timeLeft !== undefined && (
          <Property
            name={next.timeLeft > 0 ? 'Fresh for' : 'Stale since'}
            value={formatDuration(Math.abs(next.timeLeft))}
          />
        )}
        {group !== undefined && <Property name="Group" value={group} />}
        {scope !== undefined && <Property name="Scope" value={scope} />}
        {tags !== undefined && <Property name="Tags" value={tags.join(' ')} />}
        {key !== undefined && <Property name="Key" value={key} />}
      </dl>
      {invalidatedBy.length > 0 && (
        <>
          <h2>Invalidated by</h2>
          <ul class="mono">
            {invalidatedBy.map(({ write, when }) => (
              <li key={write}>
                {write} {when !== undefined && <span class="quiet">if {when.join(' or ')}</span>}
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  )
}
