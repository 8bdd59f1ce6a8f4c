/**
 * The operators' console, a plugin for the operations listener: its page under `/console/`, and its API under `/api`: here the
 * caller, single requests and the history.
 */
import fastifyStatic from '@fastify/static'
import type { FastifyInstance, FastifyPluginAsync } from 'fastify'
import { Type } from 'typebox'
import { type OperationsPart, pagePolicy } from '../../../src/admin/listener.ts'
import { EdgeError } from '../../../src/core/errors.ts'
import { waitForTurn } from '../../../src/core/turns.ts'
import type { CapacityState } from '../../../src/status/capacity.ts'
import type { EdgeView } from '../../../src/status/edge-view.ts'
import type { ReplicaSummary } from '../../../src/status/node-types.ts'
import { requestValidatorOf } from '../../../src/status/validation.ts'
import type { Account } from './api-types.ts'
import { registerCacheRoutes } from './cache-routes.ts'
import type { Capacity } from './cache-types.ts'
import { type History, type HistoryQuery, RANGES } from './history-types.ts'
import { registerLiveRoutes, registerNodeRoutes } from './live-routes.ts'
import { createRecorders, type Recorders } from './recorders.ts'
import { requestDetailsOf } from './request-details.ts'
import type { Costs, RequestDetails } from './request-types.ts'
import { createSessionPorts, createSignInPages } from './sign-in/page-parts.ts'
import { sessionPart } from './sign-in/routes.ts'

export { checkIssuer } from './sign-in/issuer.ts'

/** About what the answer to a request takes. */
const REQUEST_MS = 0.2

export interface ConsoleOptions {
  readonly edge: EdgeView
  /** The folder of the built page. Undefined if the build has none. */
  readonly folder: string | undefined
}

/** Records requests from now on, until the listener closes. */
export const operationsPlugin: FastifyPluginAsync<ConsoleOptions> = async (app, { edge, folder }) => {
  const recorders = createRecorders(edge)
  app.addHook('onClose', async () => recorders.close())
  const { access } = edge
  const sessions = access.sessions && createSessionPorts(access.sessions)
  access.usePages(createSignInPages(sessions, access.rolesOf))
  if (sessions !== undefined) await sessionPart(sessions)(app)
  await consolePart(edge, recorders, folder)(app)
}

export function consolePart(view: EdgeView, recorders: Recorders, folder: string | undefined): OperationsPart {
  return async (app) => {
    app.setValidatorCompiler<object>(({ schema }) => requestValidatorOf(schema))
    app.addHook('preHandler', async ({ caller }) => {
      // The page and the sign-in need no caller.
      if (caller === undefined) return
      recorders.recordStages()
      // The requests of a burst are answered in several turns of the event loop.
      await waitForTurn(REQUEST_MS)
    })
    registerAccountRoute(app, view)
    registerLiveRoutes(app, view, recorders)
    registerNodeRoutes(app, view, recorders)
    registerRequestRoute(app, recorders)
    registerCacheRoutes(app, view, recorders)
    registerHistoryRoute(app, recorders)
    app.get(
      '/api/capacity',
      async (): Promise<Capacity> => capacityOf(view.name, view.cache.capacity(), view.cluster.replicas?.()),
    )
    app.get('/api/costs', async (): Promise<Costs> => recorders.costs.read())
    await registerPage(app, folder)
  }
}

async function registerPage(app: FastifyInstance, folder: string | undefined): Promise<void> {
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
  await app.register(fastifyStatic, {
    root: folder,
    prefix: '/console/',
    preCompressed: true,
    cacheControl: false,
    setHeaders: (reply, path) => {
      reply.header('content-security-policy', pagePolicy("font-src 'self'"))
      reply.header('cross-origin-opener-policy', 'same-origin')
      // The name of an asset changes with its contents.
      const isAsset = /[\\/]assets[\\/]/.test(path)
      reply.header('cache-control', isAsset ? 'private, max-age=31536000, immutable' : 'no-cache')
    },
  })
}

/** `/api/me`: who the caller is, with which roles, and whether the caller can sign out. */
function registerAccountRoute(app: FastifyInstance, { access }: EdgeView): void {
  app.get('/api/me', async ({ caller }): Promise<Account> => {
    const { name, permissions, session } = caller
    const issuer = session?.issuer
    return {
      user: session?.user ?? name,
      ...(issuer !== undefined && { issuer: new URL(issuer).host }),
      roles: access.rolesOf(caller) ?? null,
      permissions,
      ...(session && { session: { endsIn: Math.max(0, session.expiresAt - Date.now()) } }),
    }
  })
}

const UUID = '^[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$'
/** Of a single request. */
const params = Type.Object({ id: Type.String({ pattern: UUID }) })

function registerRequestRoute(app: FastifyInstance, { records }: Recorders): void {
  app.get<{ Params: { id: string } }>(
    '/api/requests/:id',
    { schema: { params } },
    async ({ params: { id } }): Promise<RequestDetails> => {
      const found = records.find(id.toLowerCase())
      if (found === undefined) {
        throw new EdgeError(603, '. This replica has no record of the request. Records are kept for 10 minutes')
      }
      return requestDetailsOf(found)
    },
  )
}

const historyQuery = Type.Object(
  {
    range: Type.Optional(Type.Union(RANGES.map((range) => Type.Literal(range)))),
    replica: Type.Optional(Type.String({ minLength: 1, maxLength: 300 })),
  },
  { additionalProperties: false },
)

function registerHistoryRoute(app: FastifyInstance, { history }: Recorders): void {
  const schema = { querystring: historyQuery }
  app.get<{ Querystring: HistoryQuery }>(
    '/api/history',
    { schema },
    async ({ query }): Promise<History> => history.read(query),
  )
}

/** `others`: undefined if replicas share nothing, or Redis is unreachable. */
function capacityOf(name: string, { local, redis }: CapacityState, others: readonly ReplicaSummary[] = []): Capacity {
  const own = local === undefined ? [] : [{ name, local }]
  const reported = others.flatMap((other) =>
    other.local === undefined ? [] : [{ name: other.name, local: other.local }],
  )
  return { replicas: [...own, ...reported], ...(redis && { redis }) }
}
