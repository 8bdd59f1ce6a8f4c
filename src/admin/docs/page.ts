import type { Endpoint } from '../../catalogue/endpoint.ts'
import { type ErrorDefinition, errorTable } from '../../core/errors.ts'
import { operationId } from '../openapi/paths.ts'
import { endpointSection } from './endpoint.ts'
import { type Html, html } from './html.ts'

/** The whole document: what all requests share, a table of everything, each endpoint, every error. */
export function docsPage(catalogue: readonly Endpoint[], version: string): string {
  const sections = [...new Set(catalogue.map(({ section }) => section))]
  const of = (section: string) => catalogue.filter((endpoint) => endpoint.section === section)
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Manager Edge ${version}: every endpoint</title>
<link rel="stylesheet" href="/docs/style.css">
</head>
<body>
<a class="skip" href="#content">To the endpoints</a>
<header>
<h1>Manager Edge ${version}</h1>
<p>Every endpoint of the API, as this edge serves it. <a href="/openapi.json">openapi.json</a> says the same to programs,
the <a href="/console/">console</a> shows what is going on.</p>
</header>
<nav aria-label="Sections"><ul>
${sections.map((section) => html`<li><a href="#${anchorOf(section)}">${section}</a> (${of(section).length})</li>`)}
<li><a href="#errors">Errors of the edge</a></li>
</ul></nav>
<main id="content">
${common()}
${sections.map((section) => sectionOf(section, of(section)))}
${errorSection()}
</main>
</body>
</html>
`.markup
}

function anchorOf(section: string): string {
  return `section-${section.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}`
}

function common(): Html {
  return html`<section>
<h2 id="every-request">Every request</h2>
<p>The examples take the address and the user from the shell; curl asks for the password:</p>
<pre tabindex="0"><code>EDGE=https://edge.example:55000 EDGE_USER=alice</code></pre>
<p>A Bearer token of <code>POST /security/user/authenticate</code> signs in as well. Each endpoint takes
<code>pretty</code> (indents the answer) and <code>wait_for_complete</code> (lifts the time limits); their presence alone
counts. Errors of the manager come with HTTP 200 and their own code; those of the edge stand <a href="#errors">below</a>.</p>
<p>How long the groups of the cache stay fresh is set in <code>cache.durations</code>; the header
<code>Cache-Status</code> says what was done with a request, <code>GET /cache/explain</code> what would be done with the
next one.</p>
</section>`
}

function sectionOf(section: string, endpoints: readonly Endpoint[]): Html {
  const rows = endpoints.map(
    (endpoint) =>
      html`<li><a href="#${operationId(endpoint)}"><code>${endpoint.method} ${endpoint.path}</code></a> ${endpoint.summary}</li>
`,
  )
  return html`<section>
<h2 id="${anchorOf(section)}">${section}</h2>
<ul class="index">
${rows}</ul>
${endpoints.map(endpointSection)}
</section>
`
}

function errorSection(): Html {
  const rows = Object.entries<ErrorDefinition>(errorTable).map(
    ([code, { status, message, remedy }]) =>
      html`<tr id="error-${code}"><td>${code}<td>${status}<td>${message}<td>${remedy}</tr>
`,
  )
  return html`<section>
<h2 id="errors">Errors of the edge</h2>
<div class="wide" tabindex="0"><table>
<thead><tr><th>Code<th>HTTP<th>Message<th>What to do</tr></thead>
<tbody>${rows}</tbody>
</table></div>
</section>
`
}
