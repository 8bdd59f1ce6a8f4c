/** The reference of the public API: `/openapi.json` for programs, and Swagger UI under `/docs` for people. */
import swagger, { type StaticDocumentSpec } from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import type { OperationsPart } from './listener.ts'

/** Swagger UI comes from its package. Inline scripts, inline styles and other hosts stay forbidden. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

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

/** `document`: an OpenAPI document. */
export function referencePart(document: object): OperationsPart {
  const json = JSON.stringify(document)
  return async (app) => {
    app.get('/openapi.json', async (_request, reply) => reply.type('application/json; charset=utf-8').send(json))
    await app.register(swagger, {
      mode: 'static',
      specification: { document: document as StaticDocumentSpec['document'] },
    })
    await app.register(swaggerUi, {
      routePrefix: '/docs',
      staticCSP: contentSecurityPolicy,
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
  }
}
