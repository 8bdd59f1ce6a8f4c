/** The front and the cache stage of the edge over a memory store, without cluster and without Redis: where time goes. */
import { pino } from 'pino'
import { createAccess } from '../../../src/auth/access.ts'
import { catalogue } from '../../../src/catalogue/index.ts'
import { authentication, tokenIssuer } from '../../../src/http/authenticate.ts'
import { createHttp } from '../../../src/http/index.ts'
import { createListener } from '../../../src/http/listener.ts'
import { createCache } from '../../../src/pipeline/cache/index.ts'
import type { Handle } from '../../../src/pipeline/ports.ts'
import { createMemoryStore } from '../../../src/store/memory.ts'
import { bodyOf } from '../bodies.ts'

const [port, users = '', road = 'short'] = process.argv.slice(2)
const log = pino({ base: null })
const access = await createAccess({
  realm: 'Manager Edge',
  users: { file: users },
  roles: { bench: ['administrator'] },
  ownRoles: {},
  tokens: { lifetime: 900, issuer: 'manager-edge', audience: 'manager-edge', issuers: [] },
  limits: { failedLogins: 5, perCaller: { max: 1e9, window: 1000 }, perAddress: { max: 1e9, window: 1000 } },
  log: () => undefined,
})
const listener = await createListener({
  limits: { headers: 16_384, headerCount: 100, url: 8192, pipelined: 100 },
  timeouts: { headers: 5000, body: 30_000, write: 30_000, expect: 10_000, idle: 72_000 },
  hosts: [],
  cors: false,
  log,
})
const cache = createCache({
  store: createMemoryStore({ bytes: 64 * 1024 * 1024 }),
  key: { secret: 'bench', policy: '' },
  durationsOf: () => ({ keepFor: 3_600_000, staleWhileRevalidate: 0, staleIfError: 0 }),
  master: () => 'master',
  timeout: 20_000,
  slowTimeout: 20_000,
  spare: () => false,
})
let issue: (name: string) => Promise<string> = async () => ''
const read = cache.cached(async ({ query }) => ({ kind: 'json', status: 200, bytes: bodyOf(Number(query.limit ?? 2)) }))
const token: Handle = async ({ caller }) => ({
  kind: 'json',
  status: 200,
  bytes: Buffer.from(JSON.stringify({ error: 0, data: { token: await issue(caller.name) } })),
})
const { app } = await createHttp({
  catalogue,
  handle: (ask) => (ask.endpoint.target.kind === 'edge' ? token(ask) : read(ask)),
  serverFactory: listener.serverFactory,
  log,
  limits: { query: 64, fields: 100_000, upload: 1_000_000 },
  prefixes: { upgradeRepositories: [], packageFolders: [] },
  experimental: false,
  corsOrigins: [],
  hitRoad: road === 'short',
  clientAddress: ({ raw }) => raw.socket.remoteAddress ?? '',
  managerVersion: () => '3.11.5',
  authentication: async (instance) => {
    const authenticate = await authentication(instance, access)
    issue = tokenIssuer(instance, access)
    return authenticate
  },
})
await app.listen({ port: Number(port), host: '127.0.0.1' })
