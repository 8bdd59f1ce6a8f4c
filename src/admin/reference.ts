/**
 * The reference of the public API: for programs `/openapi.json` and, of the newer contract, `/openapi-newer.json`; for people
 * pages of Swagger UI under `/docs` and `/docs-newer`, with links to each other.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { StaticDocumentSpec } from '@fastify/swagger'
import type { FastifyInstance } from 'fastify'
import { type OperationsPart, pagePolicy, registerLatePages } from './listener.ts'

/** The pages, in the order of their links. */
const pages = [
  { contract: 'classic', path: '/docs', json: '/openapi.json', name: 'Releases 3.x (classic contract)' },
  { contract: 'newer', path: '/docs-newer', json: '/openapi-newer.json', name: 'Releases 4.x (newer contract)' },
] as const

/** The API has another origin than this page, so the controls for sending requests are hidden. */
const css = `.contracts { display: flex; flex-wrap: wrap; gap: 0.5rem 1.5rem; padding: 0.75rem 1.25rem; font: 1rem sans-serif }
.contracts a { color: #0b5a73 }
.contracts a[aria-current] { color: inherit; font-weight: bold; text-decoration: none }
.dark-mode .contracts { color: #fff; background: #1c2022 }
.dark-mode .contracts a { color: #8ad3ea }
.dark-mode .contracts a[aria-current] { color: #fff }
.swagger-ui .scheme-container, .swagger-ui .authorization__btn { display: none }
.swagger-ui .info .title small { background: #5a6270 }
.swagger-ui .info .title small.version-stamp { background: #426000 }
.swagger-ui .info a, .swagger-ui .info .link .url, .swagger-ui .tab li button.tablinks { color: #0b5a73 }
.dark-mode .swagger-ui .info a, .dark-mode .swagger-ui .info .link .url { color: #8ad3ea }
.swagger-ui .opblock .opblock-summary-method { background: #3b4151; color: #fff }
.swagger-ui .opblock.opblock-delete .opblock-summary-method { background: #a11414 }
.swagger-ui .opblock.opblock-post .opblock-summary-method { background: #17683f }
.swagger-ui .opblock.opblock-put .opblock-summary-method { background: #8a4b00 }
.swagger-ui .opblock.opblock-get .opblock-summary-method { background: #0b5a9c }
.swagger-ui .parameter__in, .swagger-ui .parameter__extension, .swagger-ui .parameter__deprecated { color: inherit }
.swagger-ui .response-control-media-type__accept-message, .swagger-ui .response-control-media-type__accept-message code { color: inherit }
.swagger-ui .renderedMarkdown code, .swagger-ui .markdown code { color: #6a0dc0 }
.dark-mode .swagger-ui .renderedMarkdown code, .dark-mode .swagger-ui .markdown code { color: #e3c2ff }
.dark-mode .swagger-ui .microlight span { color: #fff !important }
.dark-mode .swagger-ui .header-col, .dark-mode .swagger-ui .col_header { color: #fff }
.swagger-ui td, .swagger-ui code { overflow-wrap: anywhere }
`
/** Only the top bar, which is not shown, would read the reader's choice of colours. */
const script = `const dark = matchMedia('(prefers-color-scheme: dark)')
const apply = () => document.documentElement.classList.toggle('dark-mode', dark.matches)
dark.addEventListener('change', apply)
apply()
const links = ${JSON.stringify(pages.map(({ path, name }) => [path, name]))}.map(([path, name]) => {
  const link = document.createElement('a')
  link.href = path
  link.textContent = name
  if (location.pathname.replace(/\\/$/, '') === path) link.setAttribute('aria-current', 'page')
  return link
})
const nav = document.createElement('nav')
nav.className = 'contracts'
nav.setAttribute('aria-label', 'Contracts')
nav.append(...links)
document.body.prepend(nav)
// Swagger UI leaves out what readers of a screen need. It renders again and again, so each change is completed.
const complete = () => {
  const each = (selector, change) => document.querySelectorAll(selector).forEach(change)
  const set = (selector, name, value) => each(selector, (one) => one.setAttribute(name, value))
  set('.information-container', 'role', 'region')
  set('.information-container', 'aria-label', 'About this API')
  set('.filter-container', 'role', 'search')
  for (const level of [3, 4, 5]) set('.swagger-ui h' + level, 'aria-level', level - 1)
  set('.swagger-ui pre', 'tabindex', '0')
  each('.opblock-summary-control a[href]', (one) => one.removeAttribute('href'))
  each('.responses-table', (one) => one.setAttribute('aria-label', 'Responses of ' + one.id.replaceAll('_', ' ')))
  each('.parameters select', (one) =>
    one.setAttribute('aria-label', one.closest('tr')?.getAttribute('data-param-name') ?? 'value'))
}
new MutationObserver(complete).observe(document.body, { childList: true, subtree: true })
`

/** The OpenAPI documents, which are built at their first use. */
export type ReferenceOptions = Readonly<Record<(typeof pages)[number]['contract'], DocumentedContract>>

interface DocumentedContract {
  readonly document: () => Promise<object>
  readonly represent: RepresentDocument
}

/** Returns the response with a document: with an entity tag, and compressed if the client accepts it. */
type RepresentDocument = (headers: IncomingHttpHeaders) => Promise<{
  readonly status: number
  readonly stableHeaders: readonly string[]
  readonly bytes?: Buffer
}>

export function referencePart(contracts: ReferenceOptions): OperationsPart {
  return (app) => {
    for (const { contract, path, json, name } of pages) {
      const { document, represent } = contracts[contract]
      app.get(json, async ({ headers }, reply) => {
        const { status, stableHeaders: pairs, bytes } = await represent(headers)
        for (let at = 0; at < pairs.length; at += 2) reply.header(pairs[at] ?? '', pairs[at + 1])
        return reply.code(status).send(bytes)
      })
      registerLatePages(app, [path, `${path}/*`], (pages) => registerPage(pages, { path, name, document }))
    }
  }
}

interface PageOptions extends Pick<DocumentedContract, 'document'> {
  readonly path: string
  readonly name: string
}

async function registerPage(pages: FastifyInstance, { path, name, document }: PageOptions): Promise<void> {
  const { default: swagger } = await import('@fastify/swagger')
  const { default: swaggerUi } = await import('@fastify/swagger-ui')
  await pages.register(swagger, {
    mode: 'static',
    specification: { document: (await document()) as StaticDocumentSpec['document'] },
  })
  await pages.register(swaggerUi, {
    routePrefix: path,
    // Swagger UI comes from its package. Inline scripts, inline styles and other hosts stay forbidden.
    staticCSP: pagePolicy(),
    theme: {
      title: `Manager Edge: API reference, ${name}`,
      css: [{ filename: 'edge.css', content: css }],
      js: [{ filename: 'page.js', content: script }],
    },
    uiConfig: {
      layout: 'BaseLayout',
      docExpansion: 'none',
      filter: true,
      // Its colours are hard to read on a dark page.
      syntaxHighlight: { activate: false, theme: 'monokai' },
      showExtensions: true,
      supportedSubmitMethods: [],
      defaultModelsExpandDepth: -1,
    },
  })
}
