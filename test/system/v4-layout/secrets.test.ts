/** Tokens and passwords of the nodes of the v4 layout are in the memory of the process only. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type Simulator, startSimulator } from '../../../packages/simulator/src/index.ts'
import { type RunningEdge, type Settings, startEdge } from '../../support/edge.ts'
import { eventually } from '../../support/eventually.ts'
import { type RedisServer, startRedis } from '../../support/redis.ts'
import { type Collector, startCollector } from '../../unit/telemetry/traces/collector.ts'

const PASSWORD = 'Canary-of-the-account-7'
const users = { ann: { password: 'Canary-of-ann-7', roles: ['administrator'] } } as const
const basic = (user: string, password: string) => `Basic ${btoa(`${user}:${password}`)}`

interface Stage {
  readonly simulator: Simulator
  readonly edge: RunningEdge
  readonly redis: RedisServer
  readonly collector: Collector
  readonly audit: string
  /** The header of an administrator. */
  readonly authorization: string
}

async function start(t: Test, mode: 'service' | 'passthrough'): Promise<Stage> {
  const simulator = await startSimulator({
    layout: 'v4',
    workers: 1,
    agents: 5,
    password: PASSWORD,
    v4: { users },
  })
  t.teardown(() => simulator.close())
  const redis = await startRedis({ args: ['--rdbcompression', 'no'] })
  t.teardown(() => redis.close())
  const collector = await startCollector(t)
  const audit = join(t.testdir(), 'audit')
  const through: Settings = {
    cluster: { layout: 'v4', discover: false, credentials: { mode: 'passthrough', username: null, password: null } },
    access: { users: null, roles: { ann: ['administrator'] } },
  }
  const edge = await startEdge({
    nodes: simulator.nodes,
    password: PASSWORD,
    settings: {
      audit: { file: audit },
      log: { level: 'trace' },
      traces: { endpoint: collector.url, sampleRatio: 1, maxPerSecond: 10_000 },
      ...(mode === 'service' ? { cluster: { layout: 'v4' } } : through),
      cache: { redis: { url: redis.url } },
    },
  })
  t.teardown(() => edge.close())
  const authorization = mode === 'service' ? edge.authorization('admin') : basic('ann', users.ann.password)
  return { simulator, edge, redis, collector, audit, authorization }
}

for (const mode of ['service', 'passthrough'] as const) {
  t.test(`no log, trace, metric, audit record, error or Redis key holds a token or password (${mode})`, async (t) => {
    const { simulator, edge, redis, collector, audit, authorization } = await start(t, mode)
    const received: string[] = []
    const send = async (path: string, init: RequestInit = {}) => {
      const response = await fetch(edge.url + path, { ...init, headers: { authorization, ...init.headers } })
      const text = await response.text()
      received.push(JSON.stringify([...response.headers]), text)
      return { status: response.status, text }
    }
    t.equal((await send('/agents')).status, 200)
    t.equal((await send('/syscheck/001', { method: 'PUT' })).status, 200)
    // New tokens: after a revocation, and after an end that the edge does not know of.
    simulator.v4.revokeTokens()
    t.equal((await send('/agents/002')).status, 200)
    simulator.v4.expireTokens()
    t.equal((await send('/syscheck/002', { method: 'PUT' })).status, 200)
    // Errors of all kinds, during calls and logins.
    for (const fault of [{ status: 500 }, { html: true }, { reset: true }, { error: 1017 }, { truncate: 5 }] as const) {
      await simulator.faults.set('master', { ...fault, times: 4 })
      simulator.v4.revokeTokens()
      for (const path of ['/agents/003', '/rules?limit=3']) await send(path)
      await send('/syscheck/003', { method: 'PUT' })
      await simulator.faults.clear()
    }
    await send('/agents/004', { headers: { authorization: basic('ann', 'Canary-of-a-typo-7') } })
    await eventually(async () => (await send('/agents/004')).status === 200)
    const path = '/agents?limit=1'
    await eventually(async () => {
      await send(path)
      return collector.bodies.join('').includes('"login"')
    })

    const tokens = simulator.seen.flatMap(
      ({ headers }) => /^Bearer (.+)$/.exec(String(headers.authorization))?.[1] ?? [],
    )
    t.ok(new Set(tokens).size > 3, `${new Set(tokens).size} tokens`)
    const places: Record<string, string> = {
      log: edge.logged.join(''),
      audit: readFileSync(audit, 'utf8'),
      traces: collector.bodies.join(''),
      responses: received.join('\n'),
    }
    for (const view of [
      '/metrics',
      '/api/now',
      '/api/history',
      '/api/nodes',
      '/api/groups',
      '/api/entries',
      '/readyz?verbose',
    ]) {
      const response = await fetch(edge.operationsUrl + view, { headers: { authorization } })
      places[view] = await response.text()
      t.equal(response.status, 200, view)
    }
    const client = redis.client()
    const dumps: string[] = []
    for (const key of await client.keys('*')) dumps.push(key, (await client.dumpBuffer(key))?.toString('latin1') ?? '')
    places.redis = dumps.join('\n')
    t.match(places.redis, 'totalItems', 'responses are stored')
    t.match(places.traces, '"login"', 'the traces hold the logins')
    const passwords = [PASSWORD, ...Object.values(users).map(({ password }) => password), 'Canary-of-a-typo-7']
    const secrets = [
      ...new Set(tokens.flatMap((token) => [token.split('.')[1] ?? '', token.split('.')[2] ?? ''])),
      ...passwords,
      ...['edge', 'ann'].flatMap((user) => passwords.map((password) => btoa(`${user}:${password}`))),
    ]
    for (const [name, text] of Object.entries(places)) {
      t.ok(text.length > 10, `${name} was read`)
      t.same(
        secrets.filter((secret) => text.includes(secret)),
        [],
        name,
      )
    }
  })
}
