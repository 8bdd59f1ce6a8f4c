import fastifyStatic from '@fastify/static'
import type { FastifyInstance } from 'fastify'
import type { OperationsPart } from '../listener.ts'
import { cacheApi } from './cache-routes.ts'
import { liveApi } from './live-routes.ts'
import type { ConsolePorts } from './ports.ts'

/** The operators' console: its API under `/api`, its page under `/console/`. */

/** `folder`: of the built page; absent: there is none. */
export function consolePart(ports: ConsolePorts, folder: string | undefined): OperationsPart {
  return async (app) => {
    liveApi(app, ports)
    cacheApi(app, ports)
    await consolePage(app, folder)
  }
}

/** The page itself, out of the package: built, compressed, and allowed to talk to nobody but this listener. */

/** No inline script or style, nothing from elsewhere, in no frame; scripts cannot write markup either. */
const policy = [
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

/** `folder`: where the build put it. Without one the listener says how to make it. */
export async function consolePage(app: FastifyInstance, folder: string | undefined): Promise<void> {
  app.get('/', async (_request, reply) => reply.redirect('/console/'))
  app.get('/console', async (_request, reply) => reply.redirect('/console/'))
  if (folder === undefined) {
    app.get('/console/', async (_request, reply) =>
      reply
        .code(404)
        .type('text/plain; charset=utf-8')
        .send('The console is not in this build: npm run build makes it.\n'),
    )
    return
  }
  await app.register(fastifyStatic, {
    root: folder,
    prefix: '/console/',
    preCompressed: true,
    cacheControl: false,
    setHeaders: (reply, path) => {
      reply.header('content-security-policy', policy)
      reply.header('cross-origin-opener-policy', 'same-origin')
      // Names of assets change with what is in them.
      const lasting = /[\\/]assets[\\/]/.test(path)
      reply.header('cache-control', lasting ? 'private, max-age=31536000, immutable' : 'no-cache')
    },
  })
}
