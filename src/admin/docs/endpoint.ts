/** One endpoint as the page shows it: who may, where its answer lives, what is kept, what it takes, a first call. */
import type { Endpoint, Field, Param, Target } from '../../catalogue/endpoint.ts'
import { kinds } from '../../catalogue/schemas/kinds.ts'
import { codesOf, sentences } from '../openapi/parameters.ts'
import { operationId } from '../openapi/paths.ts'
import { exampleOf } from './example.ts'
import { type Html, html } from './html.ts'

export function endpointSection(endpoint: Endpoint): Html {
  const { method, path, summary, experimental, beyondSeed, slow } = endpoint
  const notes = sentences(
    experimental && 'served only where cluster.experimental is on (603 else)',
    beyondSeed && 'of the edge alone: the real API has no such endpoint',
    slow && 'may take long',
  )
  return html`<article id="${operationId(endpoint)}">
<h3><span class="method ${method.toLowerCase()}">${method}</span> <code>${path}</code></h3>
<p>${summary}. ${notes}</p>
<dl>
<dt>Permission</dt><dd>${permission(endpoint)}</dd>
<dt>Target</dt><dd>${targetWords(endpoint.target)}</dd>
<dt>Cache</dt><dd>${cachePolicy(endpoint)}</dd>
<dt>Answer</dt><dd>${sentences(`${endpoint.response.data}: ${endpoint.response.description}`)}</dd>
</dl>
${parameters(endpoint)}${body(endpoint)}<pre tabindex="0"><code>${curl(endpoint)}</code></pre>
</article>
`
}

function permission({ permission, secret }: Endpoint): Html {
  const besides = {
    none: html``,
    always: html` and <code>secrets:read</code>, since the answer holds a secret`,
    possible: html` and <code>secrets:read</code>, since the answer may hold a secret`,
  }[secret]
  return permission === 'signedIn' ? html`everybody who is signed in` : html`<code>${permission}</code>${besides}`
}

/** Where the answer lives, for the person who asks why a request went there. */
function targetWords(target: Target): string {
  switch (target.kind) {
    case 'edge':
      return 'the edge itself'
    case 'master':
      return target.through === 'none' ? 'the master alone' : 'the master; through a worker while it does not answer'
    case 'anyNode':
      return 'any node'
    case 'node':
      return `the node of the path, as ${target.twin}`
    case 'severalNodes':
      return `each of the nodes of the path, asked as ${target.ofNode}; a missing node is named in the answer`
    case 'agentOwner':
      return 'the node that the agent reports to'
    case 'agentOwners':
      return `the nodes that the agents of the ${target.ids} report to; answers are joined (${target.merge})`
    case 'everyNode': {
      const missing =
        target.whenPartial === 'label' ? 'a missing node is named in the answer' : 'a missing node fails it'
      return `every node; answers are joined (${target.merge}); ${missing}`
    }
  }
}

function cachePolicy(endpoint: Endpoint): Html {
  if ('invalidates' in endpoint) {
    const { invalidates: makesStale, invalidatesNothingBecause: staleNothing } = endpoint
    if (makesStale.length === 0) return html`makes nothing stale: ${staleNothing ?? ''}`
    const tags = makesStale.map((entry) =>
      typeof entry === 'string'
        ? html` <code>${entry}</code>`
        : html` <code>${entry.tags.join(' ')}</code> where <code>${entry.value}</code> matches <code>${entry.matches}</code>`,
    )
    return html`makes stale:${tags}`
  }
  const { cache: keep } = endpoint
  if ('never' in keep) return html`never kept: ${keep.never}`
  const scope = keep.scope === 'everyone' ? 'shared by all who may read it' : 'shared by callers with the same rights'
  return html`group <code>${keep.group}</code>, ${scope}; tags${keep.tags.map((tag) => html` <code>${tag}</code>`)}`
}

function parameters({ params, query, oneOf, strictQuery }: Endpoint): Html {
  const inPath = Object.entries(params as Readonly<Record<string, Param>>).map((entry) => parameter('path', ...entry))
  const inQuery = Object.entries(query).map((entry) => parameter('query', ...entry))
  const others = sentences(
    oneOf && `at least one of ${oneOf.join(', ')} is needed (604)`,
    strictQuery ? 'other query names are refused (604)' : 'other query names are ignored',
  )
  if (inPath.length + inQuery.length === 0) return html`<p>No parameters of its own. ${others}</p>`
  return html`<div class="wide" tabindex="0"><table>
<thead><tr><th>Parameter<th>In<th>Takes<th>What it is<th>Refused with</tr></thead>
<tbody>${[...inPath, ...inQuery]}</tbody>
</table></div>
<p>${others}</p>
`
}

function parameter(place: 'path' | 'query', name: string, param: Param): Html {
  const { kind, role, allowed, note, requires: needs, startsWith, required, pageLimit } = param
  const limits = sentences(
    role,
    allowed && `known values: ${allowed.join(', ')}`,
    note,
    param.default === undefined ? undefined : `default ${param.default}`,
    pageLimit?.max === undefined ? undefined : `at most ${pageLimit.max} (1405)`,
    startsWith && `begins with one of the setting cluster.${startsWith}`,
    needs && `needs ${needs}`,
  )
  const must = place === 'path' || required !== undefined ? html` <em>required</em>` : html``
  return html`<tr><td><code>${name}</code>${must}<td>${place}<td><code>${kind}</code><td>${limits}<td>${codesOf(param).join(', ')}</tr>
`
}

function body(endpoint: Endpoint): Html {
  const sent = 'body' in endpoint ? endpoint.body : undefined
  if (sent === undefined) return html``
  const types = html`<p>Body: <code>${sent.types.join(', ')}</code></p>`
  if (sent.kind === 'upload') return types
  return html`${types}<div class="wide" tabindex="0"><table>
<thead><tr><th>Field<th>Type<th>What it is<th>Refused with</tr></thead>
<tbody>${Object.entries(sent.fields).map(([name, field]) => fieldRow(name, field))}</tbody>
</table></div>
`
}

function fieldRow(name: string, field: Field): Html {
  const { type, kind, role, note, required, fill } = field
  const words = sentences(
    role,
    note,
    field.default === undefined ? undefined : `default ${field.default}`,
    fill === 'clientAddress' ? 'absent: the address of the client' : undefined,
  )
  const codes = [...(kind ? [kinds[kind].code] : []), ...(required ? [required] : [])]
  const must = required !== undefined && html` <em>required</em>`
  return html`<tr><td><code>${name}</code>${must}<td>${type}<td>${words}<td>${codes.join(', ')}</tr>
`
}

/** To be copied into a shell: single quotes around what it would read otherwise. */
function curl(endpoint: Endpoint): string {
  const { method, url, contentType, body: json, file } = exampleOf(endpoint)
  return [
    'curl -u "$EDGE_USER"',
    ...(method === 'GET' ? [] : [`-X ${method}`]),
    ...(contentType ? [`-H 'Content-Type: ${contentType}'`] : []),
    ...(json ? [`-d '${json}'`] : []),
    ...(file ? [`--data-binary @${file}`] : []),
    `"$EDGE"'${url}'`,
  ].join(' ')
}
