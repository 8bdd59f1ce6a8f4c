/**
 * The reference of the public API: `/openapi.json` and, of the newer contract, `/openapi-newer.json` for programs, and Swagger
 * UI under `/docs` for people.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { StaticDocumentSpec } from '@fastify/swagger'
import { pagePolicy, registerLatePages } from './late-pages.ts'
import type { OperationsPart } from './listener.ts'

/** The API has another origin than this page, so the controls for sending requests are hidden. */
const css = `.swagger-ui .scheme-container, .swagger-ui .authorization__btn { display: none }
.swagger-ui td, .swagger-ui code { overflow-wrap: anywhere }
`
/** Only the top bar, which is not shown, would read the reader's choice of colours. */
const script = `const dark = matchMedia('(prefers-color-scheme: dark)')
const apply = () => document.documentElement.classList.toggle('dark-mode', dark.matches)
dark.addEventListener('change', apply)
apply()
`

/** The OpenAPI document, which is built at its first use. */
export interface ReferenceOptions {
  readonly document: () => Promise<object>
  readonly represent: RepresentDocument
  /** The same for the document of the newer contract. */
  readonly representNewer: RepresentDocument
}

/** Returns the response with a document: with an entity tag, and compressed if the client accepts it. */
type RepresentDocument = (headers: IncomingHttpHeaders) => Promise<{
  readonly status: number
  readonly stableHeaders: readonly string[]
  readonly bytes?: Buffer
}>

export function referencePart({ document, represent, representNewer }: ReferenceOptions): OperationsPart {
  return (app) => {
    for (const [path, response] of [
      ['/openapi.json', represent],
      ['/openapi-newer.json', representNewer],
    ] as const) {
      app.get(path, async ({ headers }, reply) => {
        const { status, stableHeaders: pairs, bytes } = await response(headers)
        for (let at = 0; at < pairs.length; at += 2) reply.header(pairs[at] ?? '', pairs[at + 1])
        return reply.code(status).send(bytes)
      })
    }
    registerLatePages(app, ['/docs', '/docs/*'], async (pages) => {
      const { default: swagger } = await import('@fastify/swagger')
      const { default: swaggerUi } = await import('@fastify/swagger-ui')
      await pages.register(swagger, {
        mode: 'static',
        specification: { document: (await document()) as StaticDocumentSpec['document'] },
      })
      await pages.register(swaggerUi, {
        routePrefix: '/docs',
        // Swagger UI comes from its package. Inline scripts, inline styles and other hosts stay forbidden.
        staticCSP: pagePolicy(),
        theme: {
          title: 'Manager Edge: API reference',
          css: [{ filename: 'edge.css', content: css }],
          js: [{ filename: 'colours.js', content: script }],
        },
        uiConfig: {
          layout: 'BaseLayout',
          docExpansion: 'none',
          filter: true,
          showExtensions: true,
          supportedSubmitMethods: [],
          defaultModelsExpandDepth: -1,
        },
      })
    })
  }
}
