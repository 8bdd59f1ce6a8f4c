/** The operators' console: its API under `/api`, its page under `/console/`. */
import type { FastifyInstance } from 'fastify'
import { registerLatePages } from '../late-pages.ts'
import type { OperationsPart } from '../listener.ts'
import { registerCacheRoutes } from './cache-routes.ts'
import { registerHistoryRoute } from './history-routes.ts'
import { registerLiveRoutes } from './live-routes.ts'
import { registerNodeRoutes } from './node-routes.ts'
import type { ConsolePorts } from './ports.ts'
import { registerRequestRoutes } from './request-routes.ts'

/** `folder`: the folder of the built page. Undefined if the build has none. */
export function consolePart(ports: ConsolePorts, folder: string | undefined): OperationsPart {
  return (app) => {
    registerLiveRoutes(app, ports)
    registerNodeRoutes(app, ports)
    registerRequestRoutes(app, ports)
    registerCacheRoutes(app, ports)
    registerHistoryRoute(app, ports.history)
    registerPage(app, folder)
  }
}

/** Forbids inline scripts and styles, other hosts, and embedding. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

function registerPage(app: FastifyInstance, folder: string | undefined): void {
  app.get('/', async (_request, reply) => reply.redirect('/console/'))
  app.get('/console', async (_request, reply) => reply.redirect('/console/'))
  if (folder === undefined) {
    app.get('/console/', async (_request, reply) =>
      reply
        .code(404)
        .type('text/plain; charset=utf-8')
        .send('This build does not contain the console. Run `npm run build`.\n'),
    )
    return
  }
  registerLatePages(app, ['/console/*'], async (pages) => {
    const { default: fastifyStatic } = await import('@fastify/static')
    await pages.register(fastifyStatic, {
      root: folder,
      prefix: '/console/',
      preCompressed: true,
      cacheControl: false,
      setHeaders: (reply, path) => {
        reply.header('content-security-policy', contentSecurityPolicy)
        reply.header('cross-origin-opener-policy', 'same-origin')
        // The name of an asset changes with its contents.
        const isAsset = /[\\/]assets[\\/]/.test(path)
        reply.header('cache-control', isAsset ? 'private, max-age=31536000, immutable' : 'no-cache')
      },
    })
  })
}
