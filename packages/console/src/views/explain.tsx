/** Explains what the cache does with the next request for a URL. */
import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type { CacheExplanation, ClientPort } from '../../../../src/status/view-types.ts'
import { parseExplainedUrl } from '../../server/explained-url.ts'
import { otherFields } from '../../server/other-fields.ts'
import { callApi } from '../api.ts'
import { Contract } from '../contract.tsx'
import { capitalise, formatDuration } from '../format.ts'
import { Property } from '../property.tsx'
import { replaceQuery, route } from '../route.ts'

export function Explain({ ports }: { readonly ports: readonly ClientPort[] }) {
  const url = route.value.query.get('url') ?? ''
  const found = useSignal<CacheExplanation | undefined>(undefined)
  const failure = useSignal<string | undefined>(undefined)
  const notes = useSignal<readonly string[]>([])
  const asked = useRef(0)
  const field = useRef<HTMLInputElement>(null)
  const explain = async (text: string): Promise<void> => {
    asked.current += 1
    const question = asked.current
    found.value = undefined
    failure.value = undefined
    notes.value = []
    try {
      const parsed = parseExplainedUrl(text, ports)
      // Not the text: it may contain a password.
      replaceQuery({ url: parsed.target })
      if (field.current !== null) field.current.value = parsed.target
      const answer = await callApi<CacheExplanation>(`/api/explain?url=${encodeURIComponent(parsed.target)}`)
      // The answer to an earlier question may arrive after that to a later one.
      if (question !== asked.current) return
      notes.value = parsed.notes
      found.value = answer
    } catch (error) {
      if (question === asked.current) failure.value = (error as Error).message
    }
  }
  // Runs once, if the address contains a URL.
  useEffect(() => void (url !== '' && explain(url)), [])
  const submit = (event: SubmitEvent): void => {
    event.preventDefault()
    void explain(String(new FormData(event.currentTarget as HTMLFormElement).get('url') ?? ''))
  }
  return (
    <>
      <form class="filters" onSubmit={submit}>
        <label class="wide">
          URL, or path and query of a GET
          {ports.length > 1 && '; v4: in front of a path of releases 4.x'}
          <input
            ref={field}
            name="url"
            defaultValue={url}
            placeholder="/agents?status=active&limit=20"
            data-search=""
            spellcheck={false}
            required
          />
        </label>
        <button type="submit">Explain</button>
      </form>
      <div role="status">
        {notes.value.map((note) => (
          <p key={note} class="quiet">
            {note}
          </p>
        ))}
        {failure.value !== undefined && <p class="warning">{failure.value}</p>}
        {found.value !== undefined && <ExplanationDetails found={found.value} />}
      </div>
    </>
  )
}

function ExplanationDetails({ found }: { readonly found: CacheExplanation }) {
  const { endpoint, cacheable, reason, url, tags, next, invalidatedBy = [], ...others } = found
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
        {endpoint !== undefined && <Contract of={endpoint} />}
        {url !== undefined && <Property name="Canonical URL" value={url} />}
        {next?.age !== undefined && <Property name="Age" value={formatDuration(next.age)} />}
        {next?.timeLeft !== undefined && (
          <Property
            name={next.timeLeft > 0 ? 'Fresh for' : 'Stale since'}
            value={formatDuration(Math.abs(next.timeLeft))}
          />
        )}
        {otherFields(others).map(([name, value]) => (
          <Property key={name} name={capitalise(name)} value={value} />
        ))}
        {tags !== undefined && <Property name="Tags" value={tags.join(' ')} />}
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
