import { readFileSync } from 'node:fs'
import https from 'node:https'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { createTraces } from '../../../../src/telemetry/traces/index.ts'
import { startCollector } from './collector.ts'

/** Variables that a platform may set for every process. */
process.env.OTEL_EXPORTER_OTLP_HEADERS = 'x-from-environment=1'
process.env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT = 'http://127.0.0.1:9/elsewhere'
process.env.OTEL_RESOURCE_ATTRIBUTES = 'from.environment=1'
process.env.OTEL_SDK_DISABLED = 'true'
process.env.OTEL_TRACES_SAMPLER = 'always_off'

const requestOf = (id: string) => ({ id, method: 'GET', scheme: 'http', protocol: '1.1' }) as const

t.test('only the settings count, not the environment', async (t) => {
  const collector = await startCollector(t)
  const traces = createTraces({
    url: `${collector.url}/some/where/v1/traces`,
    headers: { 'api-key': 'k-1' },
    sampling: () => ({ sampleRatio: 1, maxPerSecond: 1e6 }),
    version: '1.2.3',
    log: { info: () => undefined, warn: (fields) => t.fail(JSON.stringify(fields)) },
  })
  traces.begin(requestOf('11111111-2222-4333-8444-555555555555'))?.end({ method: 'GET', status: 200 })
  await traces.stop(2000)
  t.match(collector.requests, [
    { method: 'POST', url: '/some/where/v1/traces', headers: { 'api-key': 'k-1', 'content-type': 'application/json' } },
  ])
  t.notOk('x-from-environment' in (collector.requests[0]?.headers ?? {}))
  const [body = ''] = collector.bodies
  t.match(body, /"service\.name","value":\{"stringValue":"manager-edge"/)
  t.match(body, /"service\.version","value":\{"stringValue":"1\.2\.3"/)
  t.notMatch(body, /from\.environment/)
  t.equal(collector.spans[0]?.traceId, '11111111222243338444555555555555', 'the trace id is the request id')
})

t.test('pending spans are bounded, spans beyond are dropped and counted', async (t) => {
  const collector = await startCollector(t)
  collector.answer(() => undefined)
  const warnings: string[] = []
  const traces = createTraces({
    url: `${collector.url}/v1/traces`,
    headers: {},
    sampling: () => ({ sampleRatio: 1, maxPerSecond: 1e6 }),
    version: '0',
    log: { info: () => undefined, warn: (fields, message) => warnings.push(`${message} ${JSON.stringify(fields)}`) },
  })
  let started = 0
  while (started < 30_000) {
    const span = traces.begin(requestOf(''))
    if (span === undefined) continue
    started += 1
    span.end({ method: 'GET', status: 200 })
  }
  const { dropped, sent } = traces.counts()
  t.equal(sent, 0)
  t.ok(dropped > 25_000 && dropped < started, `${dropped} of ${started} are dropped immediately`)
  t.equal(warnings.length, 1, 'one log line for all')
  await traces.stop(100)
  t.equal(traces.counts().dropped, started, 'spans still pending at the timeout are dropped and counted')
})

t.test('an untrusted certificate is refused, whatever the environment sets', async (t) => {
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
  const fixture = (name: string) => readFileSync(new URL(`../../../support/certificates/${name}`, import.meta.url))
  let requests = 0
  const server = https.createServer({ cert: fixture('first.crt'), key: fixture('first.key') }, () => {
    requests += 1
  })
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done))
  t.teardown(() => server.close())
  const warnings: unknown[] = []
  const traces = createTraces({
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces`,
    headers: { authorization: 'a secret' },
    sampling: () => ({ sampleRatio: 1, maxPerSecond: 1e6 }),
    version: '0',
    log: { info: () => undefined, warn: (fields) => warnings.push(fields) },
  })
  traces.begin(requestOf(''))?.end({ method: 'GET', status: 200 })
  await traces.stop(10_000)
  t.strictSame([warnings, requests], [[{ reason: 'DEPTH_ZERO_SELF_SIGNED_CERT' }], 0])
})
