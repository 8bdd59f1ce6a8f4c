import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import t from 'tap'
import { parse } from 'yaml'
import { startSimulator } from '../../../../packages/simulator/src/index.ts'
import { type RunningEdge, startEdge } from '../../../support/edge.ts'
import { eventually } from '../../../support/eventually.ts'
import { startRedis } from '../../../support/redis.ts'
import { samplesOf, sumOf } from '../../../support/scrape.ts'
import { bad, get, type Row } from '../../listener/framing-rows.ts'
import { exchange, statuses } from '../../listener/raw.ts'

type Tap = { teardown(end: () => unknown): unknown }
type Settings = Readonly<Record<string, unknown>>

async function running(t: Tap, settings: Settings = {}) {
  const simulator = await startSimulator()
  t.teardown(() => simulator.close())
  const edge = await startEdge({
    nodes: simulator.nodes,
    password: 'simulated',
    settings: {
      cache: { ttl: { agents: '10m', rules: '10m' } },
      access: { limits: { requestsPerSecond: 1e6, failedLogins: 1e6 } },
      ...settings,
    },
  })
  t.teardown(() => edge.close())
  const send = async (path: string, { user = 'admin', ...options }: { user?: string; method?: string } = {}) => {
    const response = await fetch(edge.url + path, { headers: { authorization: edge.authorization(user) }, ...options })
    return { status: response.status, bytes: (await response.arrayBuffer()).byteLength }
  }
  return { edge, send }
}

async function scraped(edge: RunningEdge) {
  const response = await fetch(`${edge.operationsUrl}/metrics`, {
    headers: { authorization: edge.authorization('admin') },
  })
  const text = await response.text()
  return { status: response.status, text, samples: samplesOf(text) }
}

t.test('counters match the requests that were sent', async (t) => {
  const { edge, send } = await running(t)
  let bytes = 0
  let sent = 0
  const count = async (path: string, options?: Parameters<typeof send>[1]) => {
    const response = await send(path, options)
    bytes += response.bytes
    sent += 1
    return response.status
  }
  for (let round = 0; round < 10; round += 1) await count('/agents/001')
  for (let round = 0; round < 3; round += 1) await count('/rules?limit=2')
  await count('/rules?limit=2', { method: 'HEAD' })
  await Promise.all(Array.from({ length: 5 }, () => count('/decoders?limit=3')))
  t.equal(await count('/agents/groups/fresh', { method: 'PUT' }), 200)
  t.equal(await count('/agents/groups/fresh', { user: 'reader', method: 'PUT' }), 403)
  t.equal(await count('/agents?limit=x'), 400)
  t.equal(await count('/nothing/here'), 404)
  t.equal(await count('/%zz'), 400, 'rejected by the router')
  const anonymous = await fetch(`${edge.url}/agents`)
  bytes += (await anonymous.arrayBuffer()).byteLength
  sent += 1
  t.equal(await count('/cache/rules', { method: 'DELETE' }), 200)
  await eventually(async () => sumOf((await scraped(edge)).samples, 'edge_audit_records_total') === 5)
  const { status, samples } = await scraped(edge)
  t.equal(status, 200)
  const sum = (name: string, labels?: Record<string, string>) => sumOf(samples, name, labels)
  t.equal(sum('edge_cache_requests_total'), sent, 'each request is counted once')
  t.equal(sum('http_server_request_duration_seconds_count'), sent)
  t.equal(sum('edge_sent_bytes_total'), bytes)
  t.equal(sum('edge_cache_requests_total', { group: 'agents', status: 'hit' }), 9)
  t.equal(sum('edge_cache_requests_total', { group: 'agents', status: 'miss' }), 1)
  t.equal(sum('edge_cache_requests_total', { group: 'rules', status: 'hit' }), 3, 'HEAD is counted too')
  t.equal(sum('http_server_request_duration_seconds_count', { http_request_method: 'HEAD' }), 1)
  t.equal(sum('http_server_request_duration_seconds_count', { http_response_status_code: '401' }), 1)
  t.equal(sum('http_server_request_duration_seconds_count', { http_route: '/agents/:agent_id' }), 10)
  t.equal(sum('http_server_request_duration_seconds_count', { http_route: 'unknown' }), 2)
  t.equal(sum('edge_cache_fetches_total', { outcome: 'stored' }), 3)
  t.equal(
    sum('edge_cache_collapsed_total', { group: 'decoders' }) +
      sum('edge_cache_requests_total', { group: 'decoders', status: 'hit' }),
    4,
  )
  t.equal(sum('edge_cache_invalidations_total', { cause: 'write' }), 1)
  t.equal(sum('edge_cache_invalidations_total', { cause: 'purgeGroup' }), 1)
  t.equal(sum('edge_audit_records_total'), 5, 'two per write, and one for the refused write')
  t.ok(sum('http_client_request_duration_seconds_count', { http_response_status_code: '200' }) >= 3)
  t.equal(sum('edge_node_available'), 3)
  t.ok(sum('edge_cache_local_bytes') > 0)
  t.ok(sum('edge_cache_saved_seconds_total', { group: 'agents' }) > 0)
})

t.test('requests that the HTTP parser rejects are counted and logged', async (t) => {
  const timeouts = { headers: '1s', body: '1s' }
  const { edge } = await running(t, { listen: { hosts: ['edge'], timeouts } })
  const port = Number(new URL(edge.url).port)
  const send = async (bytes: string) => statuses((await exchange(port, Buffer.from(bytes, 'latin1'))).text)
  const expected: Record<string, number> = {}
  const statusesSent: (number | 'none')[] = []
  const rows = async ({ bytes, status }: Row) => {
    t.strictSame(await send(bytes), [status])
    statusesSent.push(status)
  }
  await Promise.all(bad.map(rows))
  t.strictSame(await send(get('Host: elsewhere\r\n')), [421])
  t.strictSame(await send('GET / HTTP/1.1\r\nHost: edge\r\n'), [408], 'an incomplete header')
  await send('')
  const authorized = `Host: edge\r\nAuthorization: ${edge.authorization('admin')}\r\n`
  const upload = `${authorized}Content-Type: application/json\r\nContent-Length: 10\r\n`
  t.strictSame(await send(`${get(upload, 'POST /agents HTTP/1.1')}{`), [408], 'an incomplete body')
  t.strictSame(
    await send(get('Host: edge\r\n') + get('', 'CONNECT edge:443 HTTP/1.1')),
    [401, 405],
    'responses in order',
  )
  statusesSent.push(421, 408, 408, 401, 405)
  const ahead = get(authorized).repeat(3)
  t.strictSame(
    await send(get('Host: edge\r\nHost: edge\r\n') + ahead),
    [400],
    'pipelined requests after a bad one have no response',
  )
  statusesSent.push(400, 'none', 'none', 'none')
  const lines = () => edge.logged.map((line) => JSON.parse(line)).filter(({ msg }) => /^request/.test(msg))
  await eventually(async () => lines().length === statusesSent.length - 2)

  for (const status of statusesSent) expected[status] = (expected[status] ?? 0) + 1
  const { samples } = await scraped(edge)
  t.equal(sumOf(samples, 'edge_cache_requests_total'), statusesSent.length)
  const counts = samples.filter(({ name }) => name === 'http_server_request_duration_seconds_count')
  const found: Record<string, number> = {}
  for (const { labels, value } of counts) {
    const status = labels.http_response_status_code ?? ''
    found[status] = (found[status] ?? 0) + value
  }
  t.strictSame(found, expected)
  t.strictSame([...new Set(counts.map(({ labels }) => labels.http_route))].sort(), ['/agents', 'unknown'])
  t.equal(lines().length, statusesSent.length - 2, 'one log line per request, and one for the pipelined requests')
  t.ok(lines().every(({ client, reqId }) => client === '127.0.0.1' && reqId !== undefined))
})

t.test('a client that disconnects during the password check is counted', async (t) => {
  const { edge, send } = await running(t)
  t.equal((await send('/agents')).status, 200)
  const port = Number(new URL(edge.url).port)
  const wrong = (at: number) => `Authorization: Basic ${Buffer.from(`admin:wrong${at}`).toString('base64')}\r\n`
  const paths = ['/agents', '/agents?limit=5']
  for (let at = 0; at < 20; at++)
    await departed(port, get(`Host: edge\r\n${wrong(at)}`, `GET ${paths[at % 2]} HTTP/1.1`))
  await eventually(async () => sumOf((await scraped(edge)).samples, 'edge_cache_requests_total') === 21)
  t.equal(sumOf((await scraped(edge)).samples, 'edge_cache_requests_total'), 21)
})

async function departed(port: number, bytes: string): Promise<void> {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  await new Promise<void>((done) => void socket.write(bytes, () => done()))
  socket.resetAndDestroy()
}

t.test('explain and the console API are neither counted nor logged as requests', async (t) => {
  const { edge, send } = await running(t)
  await send('/agents/001')
  for (const url of ['/agents/001', '/rules', '/nothing', '/%zz', '/agents?limit=x'])
    await send(`/cache/explain?url=${encodeURIComponent(url)}`)
  const getJson = async (path: string) =>
    (await fetch(edge.operationsUrl + path, { headers: { authorization: edge.authorization('admin') } })).json()
  const { items } = (await getJson('/api/entries')) as { items: { key: string }[] }
  t.match(await getJson(`/api/entries/${items[0]?.key}`), { body: { shown: true } })
  await getJson('/api/explain?url=/agents')
  const { samples } = await scraped(edge)
  t.equal(sumOf(samples, 'edge_cache_requests_total'), 6)
  const lines = edge.logged.map((text) => JSON.parse(text) as Record<string, unknown>).filter(({ reqId }) => reqId)
  t.strictSame(
    lines.map(({ msg, route }) => `${String(msg)} ${String(route)}`),
    ['request /agents/:agent_id', ...Array.from({ length: 5 }, () => 'request /cache/explain')],
  )
})

t.test('a miss and its hits have the route template of the endpoint', async (t) => {
  const { edge, send } = await running(t, { cache: { ttl: { cluster: '10m' } } })
  for (let round = 0; round < 4; round += 1) t.equal((await send('/cluster/*/status')).status, 200)
  t.equal((await send('/cluster/master/status')).status, 200)
  const { samples } = await scraped(edge)
  const routes = samples.filter(({ name }) => name === 'http_server_request_duration_seconds_count')
  t.strictSame(routes.map(({ labels, value }) => [labels.http_route, value]).sort(), [
    ['/cluster/:node_id/status', 1],
    ['/cluster/:node_ids/status', 4],
  ])
})

t.test('clients cannot create label values', async (t) => {
  const { edge, send } = await running(t)
  const attack = async (from: number) => {
    for (let at = from; at < from + 60; at += 1) {
      await send(`/agents/${100 + at}`)
      await send(`/agents?search=word${at}&limit=${at + 1}`)
      await send(`/x${at}/y${at}`)
      await send(`/agents/groups/g${at}`, { method: 'DELETE' })
      await send(`/rules?q=id=${at}`)
      await fetch(`${edge.url}/agents`, {
        headers: { authorization: `Basic ${Buffer.from(`u${at}:x`).toString('base64')}` },
      })
    }
  }
  await attack(0)
  const before = await scraped(edge)
  await attack(60)
  const after = await scraped(edge)
  const families = (samples: typeof after.samples) =>
    new Set(samples.map(({ name, labels }) => name + JSON.stringify(labels)))
  const known = families(before.samples)
  const fresh = [...families(after.samples)].filter((series) => !known.has(series))
  // nodejs_* has one series per type of active handle.
  t.strictSame(
    fresh.filter((series) => !series.startsWith('nodejs_')),
    [],
  )
  t.notMatch(after.text, /word\d|x1\/y1|\bg61\b|u61/)
  t.ok(after.samples.length < 4000, `${after.samples.length} series`)
})

t.test('/metrics requires a login, unless operations.metrics is open', async (t) => {
  const { edge } = await running(t)
  t.equal((await fetch(`${edge.operationsUrl}/metrics`)).status, 401)
  t.equal((await fetch(`${edge.url}/metrics`)).status, 401, 'not on the public listener')
  const { edge: open } = await running(t, { operations: { host: '127.0.0.1', port: 0, metrics: 'open' } })
  const response = await fetch(`${open.operationsUrl}/metrics`)
  t.equal(response.status, 200)
  t.match(response.headers.get('content-type'), /^text\/plain; version=0\.0\.4/)
})

t.test('dashboard and alerts use only metrics and label values that the edge exposes', async (t) => {
  const redis = await startRedis()
  t.teardown(() => redis.close())
  const { edge, send } = await running(t, { cache: { redis: { url: redis.url } } })
  await send('/agents/001')
  await send('/agents/001')
  const { samples, text } = await scraped(edge)
  // A series without values, such as that of certificates without TLS, has only a type.
  const types = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name)
  const exposed = new Set([...types, ...samples.map(({ name }) => name)])
  const dashboard = JSON.parse(readFileSync('config/grafana/dashboard.json', 'utf8')) as unknown
  const alerts = parse(readFileSync('config/prometheus/alerts.yml', 'utf8')) as unknown
  const expressions = [...expressionsIn(dashboard), ...expressionsIn(alerts)]
  t.ok(expressions.length > 20, `${expressions.length} expressions`)
  const used = new Set(expressions.flatMap((text) => text.match(/\b(?:edge|http|nodejs|process)_\w+/g) ?? []))
  const labels = new Set(['http_route', 'http_request_method', 'http_response_status_code'])
  for (const name of used) if (!labels.has(name)) t.ok(exposed.has(name), `${name} is exposed`)
  t.ok(used.size > 15, `${used.size} names`)
  const matchers = expressions.flatMap(matchersIn)
  t.ok(matchers.length > 5, `${matchers.length} label values`)
  for (const { metric, label, value } of matchers) {
    const fits = samples.some(({ name, labels }) => name === metric && labels[label] === value)
    t.ok(fits, `${metric} has ${label} ${value}`)
  }
  t.ok(exposed.has('edge_redis_up'))
  t.match(readFileSync('config/prometheus/prometheus.yml', 'utf8'), /alerts\.yml/)
})

/** Returns the label values of the edge's own metrics in an expression of Prometheus; `a|b` are two. */
function matchersIn(expression: string) {
  return [...expression.matchAll(/\b(edge_\w+)\{([^}]*)\}/g)].flatMap(([, metric = '', matchers = '']) =>
    [...matchers.matchAll(/(\w+)=~?"([\w|]+)"/g)]
      .filter(([, label]) => label !== 'job')
      .flatMap(([, label = '', values = '']) => values.split('|').map((value) => ({ metric, label, value }))),
  )
}

/** Returns all texts under `expr`. */
function expressionsIn(tree: unknown): string[] {
  if (typeof tree !== 'object' || tree === null) return []
  return Object.entries(tree).flatMap(([key, value]) =>
    key === 'expr' && typeof value === 'string' ? [value] : expressionsIn(value),
  )
}
