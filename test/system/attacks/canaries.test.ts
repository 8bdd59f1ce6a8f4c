import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { startSimulator } from '../../../packages/simulator/src/index.ts'
import { startEdge } from '../../support/edge.ts'
import { eventually } from '../../support/eventually.ts'
import { startRedis } from '../../support/redis.ts'
import { startCollector } from '../../unit/telemetry/traces/collector.ts'

const canary = (where: string) => `canary${where}${'7'.repeat(6)}`

t.test('D02: the public listener serves no page of the operations listener', async (t) => {
  const simulator = await startSimulator({ workers: 0, agents: 3, username: 'edge', password: 'only-for-tests' })
  t.teardown(() => simulator.close())
  const edge = await startEdge({ nodes: simulator.nodes })
  t.teardown(() => edge.close())
  const status = async (path: string, user: string | undefined) => {
    const headers = user === undefined ? {} : { authorization: edge.authorization(user) }
    return (await fetch(edge.url + path, { headers })).status
  }
  for (const path of ['/metrics', '/admin', '/console/', '/docs', '/docs/json', '/api/now', '/livez', '/readyz'])
    t.equal(await status(path, 'admin'), 404, path)
  t.equal(await status('/cache', undefined), 401)
})

t.test('D03: secrets of requests appear in no log, metric or console view', async (t) => {
  const account = { username: 'edge', password: canary('Account') }
  const simulator = await startSimulator({ workers: 1, agents: 5, ...account })
  t.teardown(() => simulator.close())
  const redis = await startRedis({ args: ['--rdbcompression', 'no'] })
  t.teardown(() => redis.close())
  const folder = t.testdir({ headers: `authorization: ${canary('Collector')}\n` })
  const audit = join(folder, 'audit')
  const collector = await startCollector(t)
  const edge = await startEdge({
    nodes: simulator.nodes,
    password: account.password,
    settings: {
      audit: { file: audit },
      log: { level: 'trace' },
      cache: { redis: { url: redis.url } },
      traces: { endpoint: collector.url, headersFile: join(folder, 'headers'), sampleRatio: 1, maxPerSecond: 10_000 },
    },
  })
  t.teardown(() => edge.close())
  const tail = await fetch(`${edge.operationsUrl}/api/requests`, {
    headers: { authorization: edge.authorization('admin') },
  })
  let tailed = ''
  const reading = (async () => {
    for await (const chunk of tail.body ?? []) tailed += Buffer.from(chunk).toString()
  })().catch(() => undefined)

  const own = { authorization: edge.authorization('admin') }
  const send = async (path: string, init: RequestInit = {}) => {
    const response = await fetch(edge.url + path, { ...init, headers: { ...own, ...init.headers } })
    return { status: response.status, text: await response.text() }
  }
  const json = { 'content-type': 'application/json' }
  const basic = (user: string, word: string) => ({ authorization: `Basic ${btoa(`${user}:${word}`)}` })
  const put = (name: string) => send(`/agents/${name}`, { method: 'PUT' })

  // Secrets that the edge and its nodes make, and those that clients send.
  const token = JSON.parse((await send('/security/user/authenticate', { method: 'POST' })).text).data.token as string
  const made = JSON.parse((await put('made-here')).text).data as { id: string; key: string }
  const agentKey = JSON.parse((await send('/agents/001/key')).text).data as string
  for (const secret of [token, made.key, agentKey]) t.ok(secret.length > 20, 'a secret to look for')
  await send('/agents/insert', {
    method: 'POST',
    headers: json,
    body: JSON.stringify({ name: 'inserted', ip: 'any', id: '900', key: canary('Key').repeat(5) }),
  })
  await send('/agents', { method: 'POST', headers: json, body: `{"name":"x","ip":"any","other":"${canary('Body')}"}` })
  await send('/agents', { method: 'POST', headers: json, body: `{"broken ${canary('Broken')}` })
  await send('/manager/files?path=etc/rules/local_rules.xml&overwrite=true', {
    method: 'POST',
    headers: { 'content-type': 'application/xml' },
    body: `<group name="x">${canary('Upload')}</group>`,
  })
  await send('/agents/001', { headers: basic('reader', canary('Password')) })
  await send('/agents/001', { headers: { authorization: `Bearer ${canary('Token')}.${canary('Token')}.x` } })
  await send('/agents/001', { headers: { authorization: `Bearer ${token}` } })
  await send('/agents/001', {
    headers: {
      cookie: canary('Cookie'),
      'x-api-key': canary('Header'),
      'x-request-id': canary('Id'),
      traceparent: canary('Parent'),
      tracestate: `a=${canary('State')}`,
      baggage: `a=${canary('Baggage')}`,
    },
  })
  // Query values should not be secrets, but clients may send secrets in them.
  for (const path of [
    `/agents/stats/distinct?fields=${canary('Query')}`,
    `/rules?token=${canary('Query')}`,
    `/${canary('Path')}?token=${canary('Query')}`,
  ])
    await send(path)
  for (const path of ['/agents', '/rules?limit=2', '/manager/configuration', '/cluster/nodes']) await send(path)
  await simulator.faults.set('master', { status: 500 })
  await send('/agents/002', { headers: { cookie: canary('Cookie') } })
  await send('/agents/002', { method: 'DELETE' })
  await simulator.faults.clear()
  // The tail and the traces have all earlier requests when they have this one.
  await send('/decoders?limit=1')
  await eventually(() => tailed.includes('/decoders') && collector.bodies.join('').includes('/decoders'))

  const operators = async (path: string) => {
    const response = await fetch(edge.operationsUrl + path, { headers: { authorization: edge.authorization('admin') } })
    t.equal(response.status, 200, path)
    return response.text()
  }
  const places: Record<string, string> = {
    log: edge.logged.join(''),
    audit: existsSync(audit) ? readFileSync(audit, 'utf8') : '',
    tail: tailed,
    traces: collector.bodies.join(''),
  }
  for (const path of ['/metrics', '/api/now', '/api/history', '/api/nodes', '/api/groups', '/api/entries', '/readyz'])
    places[path] = await operators(path)
  const client = redis.client()
  const dumps: string[] = []
  for (const key of await client.keys('*')) {
    dumps.push(key, (await client.dumpBuffer(key))?.toString('latin1') ?? '')
  }
  places.redis = dumps.join('\n')
  for (const [name, text] of Object.entries(places)) t.ok(text.length > 10, `${name} was read`)
  t.match(places.redis, /edge:c:[\s\S]*totalItems/, 'a response is stored, and can be read')
  const arrived = JSON.stringify(simulator.seen)
  for (const where of ['Key', 'Upload']) t.match(arrived, canary(where), `${where} went through the edge`)
  t.match(places.audit, /inserted|agents\/insert/, 'the audit contains the writes')
  t.match(places.tail, '/agents/insert', 'the live tail contains them')
  t.match(places.tail, canary('Path'), 'and the path of the unknown request')
  t.match(places.traces, '/agents/insert', 'the traces contain them')
  t.equal(collector.requests[0]?.headers.authorization, canary('Collector'), 'only the collector receives its key')
  t.notMatch(arrived, /canary(?:Collector|Parent|State|Baggage)/, 'nodes do not receive it')

  const secrets = [/canary(?!Query|Path)[A-Z][a-z]+/, token, token.split('.')[2] ?? '', made.key, agentKey, 'admin-pw']
  const encoded = [btoa(`reader:${canary('Password')}`), edge.authorization('admin').slice(6)]
  for (const [name, text] of Object.entries(places)) {
    for (const secret of [...secrets, ...encoded]) {
      const found = typeof secret === 'string' ? text.indexOf(secret) : text.search(secret)
      t.equal(
        found,
        -1,
        `${name} holds ${String(secret).slice(0, 30)}: ${found < 0 ? '' : JSON.stringify(text.slice(Math.max(0, found - 80), found + 80))}`,
      )
    }
    if (name !== '/api/entries') t.notMatch(text, /canaryQuery/, `${name} holds what a query held`)
    // Operators see the path of a request that no endpoint has.
    if (name !== '/api/entries' && name !== 'tail') t.notMatch(text, /canaryPath/, `${name} holds what a path held`)
  }
  await tail.body?.cancel().catch(() => undefined)
  await edge.close()
  await reading
})
