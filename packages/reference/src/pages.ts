/** The pages of Swagger UI, as files: they differ only in their title and in the document that they load. */
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import swagger from '@fastify/swagger'
import swaggerUi, { type FastifySwaggerUiOptions } from '@fastify/swagger-ui'
import Fastify from 'fastify'

export interface Page {
  /** Its path below the root of the listener. */
  readonly path: string
  /** What its link reads. */
  readonly name: string
}

/** The API has another origin than this page, so the controls for sending requests are hidden. */
const CSS = `.contracts { display: flex; flex-wrap: wrap; gap: 0.5rem 1.5rem; padding: 0.75rem 1.25rem; font: 1rem sans-serif }
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
const scriptOf = (pages: readonly Page[]): string => `const dark = matchMedia('(prefers-color-scheme: dark)')
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

/** The edge serves the document itself, with its own address. */
const NO_DOCUMENT = { openapi: '3.1.0', info: { title: '', version: '' }, paths: {} }

/** Files of Swagger UI that no page loads. */
const UNUSED = /[\\/](?:csp\.json|index\.html|logo\.svg|swagger-ui\.js)$/

/**
 * Writes the pages to a folder, and what all of them load to `static` there. A page has two files: relative addresses depend on
 * the slash at the end of the page's address.
 */
export async function writePages(folder: string, pages: readonly Page[]): Promise<void> {
  const assets = join(folder, 'static')
  const library = dirname(createRequire(import.meta.url).resolve('@fastify/swagger-ui'))
  cpSync(join(library, 'static'), assets, { recursive: true, filter: (path) => !UNUSED.test(path) })
  mkdirSync(join(assets, 'theme'))
  for (const page of pages) {
    const app = Fastify()
    await app.register(swagger, { mode: 'static', specification: { document: NO_DOCUMENT } })
    await app.register(swaggerUi, optionsOf(page, pages))
    const write = async (path: string, file: string) => {
      const { statusCode, body } = await app.inject(path)
      if (statusCode !== 200) throw new Error(`Swagger UI has no ${path} (${statusCode})`)
      writeFileSync(join(folder, file), body)
    }
    await write(page.path, `${page.path}.html`)
    await write(`${page.path}/`, `${page.path}-slash.html`)
    for (const file of ['swagger-initializer.js', 'theme/edge.css', 'theme/page.js'])
      await write(`${page.path}/static/${file}`, join('static', file))
    await app.close()
  }
}

function optionsOf({ path, name }: Page, pages: readonly Page[]): FastifySwaggerUiOptions {
  return {
    routePrefix: path,
    theme: {
      title: `Manager Edge: API reference, ${name}`,
      css: [{ filename: 'edge.css', content: CSS }],
      js: [{ filename: 'page.js', content: scriptOf(pages) }],
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
  }
}
