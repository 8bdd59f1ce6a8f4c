/** `/docs`: the catalogue for people, made here; the browser gets markup and a style sheet, and runs nothing. */
import type { Endpoint } from '../catalogue/endpoint.ts'
import { docsPage } from './docs/page.ts'
import { style } from './docs/style.ts'
import type { OperationsPart } from './index.ts'

const policy = [
  "default-src 'none'",
  "style-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

export function docsPart(catalogue: readonly Endpoint[], version: string): OperationsPart {
  // Half a megabyte that few ever ask for: made when the first one does.
  let page: string | undefined
  return (app) => {
    app.get('/docs', async (_request, reply) => {
      page ??= docsPage(catalogue, version)
      return reply.header('content-security-policy', policy).type('text/html; charset=utf-8').send(page)
    })
    app.get('/docs/', async (_request, reply) => reply.redirect('/docs'))
    app.get('/docs/style.css', async (_request, reply) => reply.type('text/css; charset=utf-8').send(style))
  }
}
