/** The reference of the public API for people: Swagger UI under `/docs`. */
import swagger, { type StaticDocumentSpec } from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import Fastify, { type FastifyInstance } from 'fastify'

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

/** Returns an app that does not listen: the operations listener passes requests to it, which have been authorized. */
export async function createReferencePages(document: StaticDocumentSpec['document']): Promise<FastifyInstance> {
  const app = Fastify({ logger: false })
  await app.register(swagger, { mode: 'static', specification: { document } })
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
  await app.ready()
  return app
}
