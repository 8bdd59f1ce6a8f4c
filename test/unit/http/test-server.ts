/** The HTTP server of an edge on a real socket, with a small handler as its pipeline, and a client for it. */

import { createHash } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { Agent, type IncomingHttpHeaders, request as send } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { createAccess } from '../../../src/access/index.ts'
import { putUser } from '../../../src/access/users-file.ts'
import { catalogue } from '../../../src/contracts/index.ts'
import type { CacheStatus } from '../../../src/core/cache.ts'
import { envelopeOfStored } from '../../../src/core/origins.ts'
import type { EdgeRequest, Handler } from '../../../src/core/request.ts'
import type { EdgeResponse, EnvelopeResponse, StoredOrigin } from '../../../src/core/response.ts'
import { createAuthenticator } from '../../../src/http/authenticator.ts'
import { BodyBudget } from '../../../src/http/body-budget.ts'
import { type HttpContract, type HttpSettings, methodsAt } from '../../../src/http/contract.ts'
import { createHttp, type HttpOptions } from '../../../src/http/index.ts'
import type { RateLimits } from '../../../src/http/rate-limit.ts'
import { requestLog } from '../../../src/http/request-log.ts'
import { createUrlResolver, type ResolveUrl } from '../../../src/http/resolve-url.ts'
import { v3Contract } from '../../../src/http/v3.ts'
import { OF_NODE } from '../../../src/layouts/dialect.ts'
import {
  createListener,
  type Listener,
  type ListenerOptions,
  type ListenerSettings,
} from '../../../src/listener/listener.ts'
import { createEdgeEvents } from '../../../src/telemetry/events.ts'
import { defaultConfig } from '../../support/default-config.ts'
import { storedResponse } from '../../support/stored-response.ts'
import { observeConnections } from './settled.ts'

type Tap = { teardown(end: () => unknown): unknown }

export interface ReceivedResponse {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

export interface TestServer {
  readonly requests: EdgeRequest[]
  readonly logLines: string[]
  readonly port: number
  readonly resolveUrl: ResolveUrl
  readonly listener: Listener
  /** The path of the users file. */
  readonly users: string
  /** Whether this server has received all that the client has written, and has answered as far as it can. */
  isSettled(client: Socket): boolean
  /** As a reload of the configuration does. */
  forgetUrls(): void
  /** Changes settings of the listener, as a reload does. */
  reload(changes: Partial<ListenerSettings>): Promise<void>
  /** As alice (administrator), unless the headers say otherwise. */
  send(path: string, headers?: Record<string, string>, method?: string): Promise<ReceivedResponse>
}

export const basic = (name: string) => `Basic ${Buffer.from(`${name}:${name}-pw`).toString('base64')}`

/** A cached response as the cache stage returns it. */
export function cachedResponse(
  bytes: Buffer,
  status: CacheStatus = { hit: true, ttl: 4000 },
  age = 1999,
): EdgeResponse {
  const etag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`
  return envelopeOfStored({ kind: 'stored', response: storedResponse(bytes, { etag, ttl: 6000 }), age, status })
}

export function uncachedResponse(body: Buffer): EnvelopeResponse {
  return { kind: 'envelope', status: 200, body, errorNumber: 0, origin: OF_NODE }
}

function isHit(response: EdgeResponse): response is EnvelopeResponse<StoredOrigin> {
  return response.kind === 'envelope' && response.origin.kind === 'stored' && response.origin.status.hit === true
}

/**
 * Returns the handler with hits that the cache can repeat: from its second request on, a URL is answered without the
 * handler, as long as `isFresh` returns true.
 */
export function repeating(handle: Handler, isFresh = () => true): Handler {
  const withRepeat = (response: EdgeResponse, request: EdgeRequest): EdgeResponse =>
    isHit(response) ? repeatable(response, request) : response
  const repeatable = (hit: EnvelopeResponse<StoredOrigin>, request: EdgeRequest): EnvelopeResponse<StoredOrigin> => {
    const repeat = () => {
      const again = isFresh() ? handle(request) : undefined
      return again === undefined || again instanceof Promise || !isHit(again) ? undefined : repeatable(again, request)
    }
    return { ...hit, origin: { ...hit.origin, repeat } }
  }
  return (request) => {
    const response = handle(request)
    return response instanceof Promise
      ? response.then((made) => withRepeat(made, request))
      : withRepeat(response, request)
  }
}

interface TestServerSettings extends Partial<Omit<HttpOptions, 'contract'>> {
  readonly contract?: (settings: () => HttpSettings) => HttpContract
}

/** Users alice (administrator) and bob (reader). */
export async function startServer(
  t: Tap,
  handle: Handler,
  { contract: create = v3Contract(catalogue), ...settings }: TestServerSettings = {},
  listening: Partial<ListenerOptions & { readonly rates: RateLimits }> = {},
): Promise<TestServer> {
  const folder = await mkdtemp(join(tmpdir(), 'edge-http-'))
  const users = join(folder, 'users')
  for (const name of ['alice', 'bob']) await putUser(users, name, `${name}-pw`, 4)
  const logLines: string[] = []
  const log = pino({ base: null }, { write: (line: string) => void logLines.push(line) })
  const { rates, ...listenerOptions } = listening
  const access = await createAccess({
    users: { file: users },
    roles: { alice: ['administrator'], bob: ['reader'] },
    customRoles: {},
    tokens: { lifetime: () => 900, issuers: [] },
    limits: { failedLogins: () => 100_000 },
    log: () => undefined,
  })
  const listenerSettings = {
    limits: { headers: 16_384, url: 8192, pipelined: 100 },
    timeouts: { headers: 5000, body: 30_000, write: 30_000, expect: 10_000, idle: 72_000 },
    hosts: [],
    ...listenerOptions,
  }
  const events = createEdgeEvents((err, kind, reqId) => log.error({ err, reqId }, `${kind} not reported`))
  events.on({ request: requestLog({ log, logTo: { write: (line) => void logLines.push(line) } }) })
  const requests: EdgeRequest[] = []
  const { listen, cluster } = defaultConfig
  const currentSettings =
    settings.settings ??
    (() => ({
      listen: { ...listen, limits: { ...listen.limits, body: 100_000, upload: 1_000_000 } },
      cluster: { ...cluster, experimental: false },
    }))
  const contract = create(currentSettings)
  const listener = await createListener({
    cors: false,
    log,
    methodsAt: (url) => methodsAt(contract, url),
    ...listenerSettings,
  })
  const { app, forgetUrls } = await createHttp({
    contract,
    handle: (request) => {
      requests.push(request)
      return handle(request)
    },
    server: listener.fastify,
    log,
    bodies: new BodyBudget(() => ({ upload: 1_000_000, timeout: listenerSettings.timeouts.body })),
    settings: currentSettings,
    clientAddress: ({ raw }) => ({ address: raw.socket.remoteAddress ?? '' }),
    managerVersion: () => '3.11.5',
    authentication: (instance) => createAuthenticator(instance, access, rates ?? {}),
    ...settings,
    observe: events.emit.request,
  })
  const resolveUrl = createUrlResolver(contract)
  if (settings.observe) events.on({ request: settings.observe })
  const isSettled = observeConnections(listener.servers)
  await app.listen({ host: '127.0.0.1', port: 0 })
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.teardown(async () => {
    agent.destroy()
    listener.servers.forEach((server) => void server.closeAllConnections())
    await app.close()
    await access.close()
    await rm(folder, { recursive: true, force: true })
  })
  const { port } = app.server.address() as AddressInfo
  return {
    requests,
    logLines,
    port,
    resolveUrl,
    listener,
    users,
    isSettled,
    forgetUrls,
    reload: async (changes) => (await listener.prepareReload({ ...listenerSettings, ...changes }))(),
    send: (path, headers = {}, method = 'GET') =>
      exchange({ port, agent }, { path, method, headers: { authorization: basic('alice'), ...headers } }),
  }
}

interface SentRequest {
  readonly path: string
  readonly method: string
  readonly headers: Record<string, string>
}

/** One request, on the same connection as the others unless it closes; an empty `authorization` is left out. */
function exchange(
  { port, agent }: { readonly port: number; readonly agent: Agent },
  { path, method, headers: { authorization, ...others } }: SentRequest,
): Promise<ReceivedResponse> {
  const headers = authorization === '' ? others : { authorization, ...others }
  return new Promise((resolve, reject) => {
    send({ host: '127.0.0.1', port, path, method, headers, agent }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) }),
      )
    })
      .on('error', reject)
      .end()
  })
}
