import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import t from 'tap'
import { effectOf } from '../../../src/config/effects.ts'
import { cacheGroups, schema } from '../../../src/config/schema.ts'
import { listLeaves } from '../../../src/config/tree.ts'
import { eventually } from '../../support/eventually.ts'
import { type Reloadable, reloadable } from './edge.ts'

/** What a client or an operator sees of a setting. The values before and after the change must differ. */
interface Proof {
  readonly changes: Readonly<Record<string, unknown>>
  readonly before: unknown
  readonly after: unknown
  observe(edge: Reloadable): Promise<unknown>
}

const unique = () => randomBytes(6).toString('hex')

/** Returns the status and the error code of a read. */
const answer =
  (path: () => string, headers: Readonly<Record<string, string>> = {}): Proof['observe'] =>
  async ({ get }) => {
    const response = await get(path(), headers)
    const { error } = (await response.json()) as { error: number }
    return [response.status, error]
  }

const OK = [200, 0]

/** Returns whether a fetched response is fresh for more than 70 seconds. */
const isFreshForLong =
  (path: string): Proof['observe'] =>
  async ({ get }) => {
    const response = await get(`${path}${path.includes('?') ? '&' : '?'}offset=0`, { 'cache-control': 'no-cache' })
    await response.arrayBuffer()
    return Number(/ttl=(\d+)/.exec(response.headers.get('cache-status') ?? '')?.[1]) > 70
  }

/** Sends bytes on a connection of its own and returns the first line of the response. */
async function raw(edge: Reloadable, bytes: string): Promise<string> {
  const { port } = new URL(edge.edge.url)
  const socket = connect(Number(port), '127.0.0.1')
  socket.write(bytes)
  const [first] = (await once(socket, 'data')) as [Buffer]
  socket.destroy()
  return String(first).split('\r\n')[0] ?? ''
}

const pathOfGroup: Readonly<Record<string, string>> = {
  agents: '/agents',
  summary: '/summary/agents',
  manager: '/manager/status',
  cluster: '/cluster/worker-1/logs',
  rules: '/rules',
  decoders: '/decoders',
  lists: '/lists',
  syscheck: '/syscheck/001',
  rootcheck: '/rootcheck/001',
  sca: '/sca/001',
  syscollector: '/syscollector/001/packages',
  ciscat: '/ciscat/001/results',
}

const proofs: readonly Proof[] = [
  {
    changes: { 'listen.hosts': ['edge.example'] },
    before: OK,
    after: [421, 910],
    observe: answer(() => '/agents?limit=1'),
  },
  {
    changes: { 'listen.limits.headers': '400B' },
    before: OK,
    after: [431, 907],
    observe: answer(() => '/agents?limit=1', { 'x-long': 'x'.repeat(400) }),
  },
  {
    changes: { 'listen.limits.headerCount': 12 },
    before: OK,
    after: [431, 907],
    observe: answer(
      () => '/agents?limit=1',
      Object.fromEntries(Array.from({ length: 12 }, (_, at) => [`x-${at}`, '1'])),
    ),
  },
  {
    changes: { 'listen.limits.url': '40B' },
    before: OK,
    after: [414, 908],
    observe: answer(() => `/agents?search=${unique()}${unique()}${unique()}`),
  },
  {
    changes: { 'listen.limits.queryParameters': 1 },
    before: OK,
    after: [400, 604],
    observe: answer(() => '/agents?limit=1&offset=0'),
  },
  {
    changes: { 'listen.trustedProxies': ['127.0.0.1'] },
    before: '127.0.0.1',
    after: '198.51.100.7',
    observe: async ({ get, lines }) => {
      const path = `/agents?search=${unique()}`
      const from = lines().length
      await (await get(path, { 'x-forwarded-for': '198.51.100.7' })).arrayBuffer()
      await eventually(() => lines().length > from)
      return lines().at(-1)?.client
    },
  },
  {
    changes: { 'listen.timeouts.idle': '9s' },
    before: 'timeout=72',
    after: 'timeout=9',
    observe: async ({ get }) => (await get(`/agents?search=${unique()}`)).headers.get('keep-alive'),
  },
  {
    changes: { 'listen.timeouts.expect': '50ms' },
    before: 'open',
    after: 'HTTP/1.1 408 Request Timeout',
    observe: async (edge) => {
      const head = [
        'POST /agents HTTP/1.1',
        'host: edge',
        `authorization: ${edge.edge.authorization('admin')}`,
        'content-type: application/json',
        'content-length: 2',
        'expect: 100-continue',
      ]
      const { port } = new URL(edge.edge.url)
      const socket = connect(Number(port), '127.0.0.1')
      let text = ''
      socket.on('data', (bytes) => {
        text += bytes
      })
      socket.write(`${head.join('\r\n')}\r\n\r\n`)
      await eventually(() => text.includes('100 Continue'))
      // With the default of ten seconds nothing more arrives.
      await Promise.race([once(socket, 'close'), new Promise((resolve) => setTimeout(resolve, 1500).unref())])
      socket.destroy()
      return /HTTP\/1\.1 (?!100)[^\r]*/.exec(text)?.[0] ?? 'open'
    },
  },
  {
    changes: { 'listen.timeouts.headers': '1s', 'listen.timeouts.body': '1s' },
    before: 'open',
    after: 'HTTP/1.1 408 Request Timeout',
    observe: async (edge) =>
      Promise.race([
        raw(edge, 'GET /agents HTTP/1.1\r\nhost: edge\r\n'),
        new Promise((resolve) => setTimeout(resolve, 4500, 'open').unref()),
      ]),
  },
  {
    changes: { 'cluster.experimental': false },
    before: OK,
    after: [404, 603],
    observe: answer(() => '/experimental/syscollector/os?limit=1'),
  },
  {
    changes: { 'cluster.limits.inFlight': 7 },
    before: ['4'],
    after: ['7'],
    observe: async ({ operations }) => {
      const found = /^edge_node_limit\{node="master".*\} (\d+)$/m.exec(await operations('/metrics'))
      return [found?.[1]]
    },
  },
  {
    changes: { 'cluster.limits.response': '20B' },
    before: OK,
    after: [502, 926],
    observe: answer(() => `/agents?search=${unique()}`),
  },
  {
    changes: { 'cluster.limits.timeout': '200ms' },
    before: OK,
    after: [504, 922],
    observe: async (edge) => {
      await edge.simulator.faults.set('master', { delay: 800 })
      try {
        return await answer(() => `/agents?search=${unique()}`)(edge)
      } finally {
        await edge.simulator.faults.clear()
      }
    },
  },
  {
    changes: { 'cluster.limits.queue': 1, 'cluster.limits.inFlight': 1 },
    before: 0,
    after: 921,
    observe: async (edge) => {
      await edge.simulator.faults.set('master', { delay: 300 })
      try {
        const read = answer(() => `/agents?search=${unique()}`)
        const codes = (await Promise.all(Array.from({ length: 6 }, () => read(edge)))) as [number, number][]
        return Math.max(...codes.map(([, code]) => code))
      } finally {
        await edge.simulator.faults.clear()
      }
    },
  },
  {
    changes: { 'cluster.credentials.password': 'not-the-password' },
    before: OK,
    after: [502, 927],
    observe: answer(() => `/agents?search=${unique()}`),
  },
  {
    changes: { 'cache.defaultTtl': '42s' },
    before: 750,
    after: 42_000,
    observe: async ({ get }) => ((await (await get('/cache/config')).json()) as Answer).data.defaultDuration,
  },
  ...Object.entries(pathOfGroup).map(
    ([group, path]): Proof => ({
      changes: { [`cache.ttl.${group}`]: '90s', 'cache.endpoints': {} },
      before: false,
      after: true,
      observe: isFreshForLong(path),
    }),
  ),
  {
    changes: { 'cache.ttl.agents': '0s' },
    before: true,
    after: false,
    observe: async ({ get }) => {
      const path = '/agents?select=id'
      await (await get(path)).arrayBuffer()
      const second = await get(path)
      await second.arrayBuffer()
      return second.headers.get('cache-status')?.includes('hit') ?? false
    },
  },
  {
    changes: { 'cache.endpoints': { '/manager/info': '90s' } },
    before: false,
    after: true,
    observe: isFreshForLong('/manager/info'),
  },
  {
    changes: { 'cache.compressionMinBytes': '10MiB' },
    before: 'gzip',
    after: null,
    observe: async ({ get }) => {
      const response = await get('/rules?limit=100', { 'accept-encoding': 'gzip' })
      await response.arrayBuffer()
      return response.headers.get('content-encoding')
    },
  },
  {
    changes: { 'access.roles': { admin: ['reader'] } },
    before: 200,
    after: 403,
    observe: async ({ get }) => (await get('/agents/001/key')).status,
  },
  {
    changes: { 'access.customRoles': { desk: ['rules:read'] }, 'access.roles': { admin: ['desk'] } },
    before: [200, 200],
    after: [403, 200],
    observe: async ({ get }) => [(await get('/agents?limit=1')).status, (await get('/rules?limit=1')).status],
  },
  {
    changes: { 'access.tokens.lifetime': '60s' },
    before: 900,
    after: 60,
    observe: async ({ edge }) => {
      const headers = { authorization: edge.authorization('admin') }
      const response = await fetch(`${edge.url}/security/user/authenticate`, { method: 'POST', headers })
      const { data } = (await response.json()) as { data: { token: string } }
      const { iat, exp } = JSON.parse(Buffer.from(data.token.split('.')[1] ?? '', 'base64url').toString())
      return exp - iat
    },
  },
  {
    changes: { 'access.limits.requestsPerSecond': 3 },
    before: false,
    after: true,
    observe: async ({ get }) => {
      const statuses = await Promise.all(Array.from({ length: 20 }, async () => (await get('/agents?limit=1')).status))
      return statuses.includes(429)
    },
  },
  {
    changes: { 'access.limits.failedLogins': 1 },
    before: 401,
    after: 429,
    observe: async ({ edge }) => {
      const headers = { authorization: `Basic ${Buffer.from(`${unique()}:wrong`).toString('base64')}` }
      let last = 0
      for (let at = 0; at < 3; at += 1) last = (await fetch(`${edge.url}/agents`, { headers })).status
      return last
    },
  },
  {
    changes: { 'log.level': 'error' },
    before: true,
    after: false,
    observe: async ({ get, lines }) => {
      const from = lines().length
      await (await get(`/agents?search=${unique()}`)).arrayBuffer()
      await (await get('/agents?limit=1')).arrayBuffer()
      await (await get('/agents?limit=1')).arrayBuffer()
      await new Promise((resolve) => setTimeout(resolve, 50))
      return lines().length > from
    },
  },
  {
    changes: { 'cluster.upgradeRepositories': ['mirror.example/wpk/'] },
    before: false,
    after: true,
    observe: async ({ edge }) => {
      const headers = { authorization: edge.authorization('admin') }
      const url = `${edge.url}/agents/001/upgrade?wpk_repo=packages.wazuh.com/wpk/`
      const { message = '' } = (await (await fetch(url, { method: 'PUT', headers })).json()) as { message?: string }
      return message.includes('wpk_repo')
    },
  },
]

interface Answer {
  readonly data: { readonly defaultDuration: number }
}

/** Settings whose effect a client sees under faults or load only, with the part that reads them at each use. */
const readAtUse: Readonly<Record<string, string>> = {
  'listen.tls.cert': 'listener: certificate.test.ts',
  'listen.tls.key': 'listener: certificate.test.ts',
  'operations.tls.cert': 'listener: certificate.test.ts',
  'operations.tls.key': 'listener: certificate.test.ts',
  'listen.limits.pipelined': 'PipeliningQueue',
  'listen.timeouts.write': 'watchSlowReaders',
  'listen.drain.delay': 'Edge.drain',
  'listen.drain.limit': 'Edge.drain',
  'cluster.nodes': 'nodes-change.test.ts',
  'cluster.credentials.username': 'as the password',
  'cluster.credentials.passwordFile': 'as the password',
  'cluster.tls.ca': 'certificates-change.test.ts',
  'cluster.tls.cert': 'certificates-change.test.ts',
  'cluster.tls.key': 'certificates-change.test.ts',
  'cluster.tls.required': 'a rule of the configuration only',
  'cluster.limits.perCaller': 'ConcurrencyLimiter',
  'cluster.limits.slowTimeout': 'forward, as timeout',
  'cluster.packageFolders': 'createChecks, as upgradeRepositories',
  'cluster.addresses': 'NodeRegistry.prepare',
  'cache.onUnreachableStore': 'Invalidator.fence',
  'cache.ttl.validation': 'lifetimesOf, as the other groups',
  'cache.staleWhileRevalidate': 'lifetimesOf',
  'cache.staleIfError': 'lifetimesOf',
  'cache.replicationLag': 'createReplicationLag',
  'cache.divergenceCheck.sampleRatio': 'createDivergenceCheck',
  'cache.divergenceCheck.maxPerSecond': 'createDivergenceCheck',
  'access.passthroughRole': 'createPassthroughAccess',
  'audit.onFailure': 'createAudit',
  'audit.sync': 'AuditFile',
  'audit.rotateAt': 'AuditFile',
  'traces.sampleRatio': 'createTraces',
  'traces.maxPerSecond': 'createTraces',
}

t.test('each setting that a reload changes has a row here', async (t) => {
  const reloaded = listLeaves(schema).flatMap(({ path }) => (effectOf(path) === 'restart' ? [] : path.join('.')))
  const rows = new Set([...proofs.flatMap(({ changes }) => Object.keys(changes)), ...Object.keys(readAtUse)])
  t.strictSame([...rows].sort(), reloaded.sort())
})

t.test('every cache group has its own row', async (t) => {
  t.strictSame(cacheGroups.filter((group) => group !== 'validation').sort(), Object.keys(pathOfGroup).sort())
})

for (const { changes, before, after, observe } of proofs) {
  t.test(`a change of ${Object.keys(changes).join(' and ')} takes effect without a restart`, async (t) => {
    const edge = await reloadable(t)
    t.strictSame(await observe(edge), before, 'before')
    await edge.change(changes)
    t.strictSame(edge.logged('configuration not reloaded, the last valid one stays in use'), [])
    t.strictSame(await observe(edge), after, 'after')
  })
}
