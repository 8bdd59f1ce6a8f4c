import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { loadConfig } from '../../../src/config/index.ts'
import { parseHeaderLines } from '../../../src/config/named-files.ts'
import { file } from './settings-text.ts'

async function load(t: Test, traces: string, headers = '') {
  const folder = t.testdir({ users: '', headers })
  const path = join(folder, 'edge.yaml')
  writeFileSync(path, file({ more: `traces: { ${traces} }` }))
  const loaded = await loadConfig({ file: path, env: {} })
  const faults = loaded.ok ? [] : loaded.faults.map((line) => line.replaceAll(folder, '…'))
  return { faults, traces: loaded.ok ? loaded.config.traces : undefined }
}

t.test('spans go to /v1/traces below the endpoint', async (t) => {
  const rows = [
    ['https://collector.example:4318', 'https://collector.example:4318/v1/traces'],
    ['https://collector.example:4318/', 'https://collector.example:4318/v1/traces'],
    ['https://collector.example/otlp', 'https://collector.example/otlp/v1/traces'],
    ['https://collector.example/otlp/v1/traces', 'https://collector.example/otlp/v1/traces'],
    ['http://otel-collector:4318', 'http://otel-collector:4318/v1/traces'],
    ['http://[::1]:4318', 'http://[::1]:4318/v1/traces'],
  ] as const
  for (const [written, read] of rows) {
    const { traces, faults } = await load(t, `endpoint: '${written}'`)
    t.equal(traces?.endpoint, read, `${written} ${faults.join(' | ')}`)
  }
  for (const ill of [
    'collector:4318',
    'grpc://c:4317',
    'https://u:p@c',
    'https://c/?key=1',
    'https://c/#x',
    'https://c/../x',
    '',
  ])
    t.match((await load(t, `endpoint: '${ill}'`)).faults, [/^edge\.yaml:8:21 traces\.endpoint: must /], ill)
})

t.test('faults of the traces settings have a place', async (t) => {
  const endpoint = "endpoint: 'https://c'"
  const rows: readonly (readonly [string, string, string])[] = [
    ['headersFile: headers', 'api-key: 1', 'traces.headersFile: needs traces.endpoint; set both or none'],
    [
      "endpoint: 'http://10.0.0.1:4318', headersFile: headers",
      'api-key: 1',
      'traces.endpoint: http://10.0.0.1:4318/v1/traces would send traces.headersFile in clear; write https://',
    ],
    [`${endpoint}, headersFile: nowhere`, '', 'traces.headersFile: …/nowhere cannot be read (ENOENT)'],
    [
      `${endpoint}, headersFile: headers`,
      'a: 1\nsecret',
      'traces.headersFile: …/headers:2 must be a name, a colon and a value',
    ],
    [`${endpoint}, sampleRatio: 1.5`, '', 'traces.sampleRatio: must be'],
    [`${endpoint}, maxPerSecond: -1`, '', 'traces.maxPerSecond: must be'],
  ]
  for (const [traces, headers, fault] of rows) {
    const { faults } = await load(t, traces, headers)
    t.equal(faults.length, 1, faults.join(' | '))
    t.ok(faults[0]?.includes(fault), `${faults[0]}`)
    t.notMatch(faults.join(), /secret/)
  }
  t.strictSame((await load(t, `${endpoint}, headersFile: headers`, 'api-key: 1\n')).faults, [])
})

t.test('a file of headers is parsed strictly', async (t) => {
  t.strictSame(parseHeaderLines('Authorization: Bearer a b=\r\nx-tenant:one\n\n'), {
    ok: true,
    headers: { authorization: 'Bearer a b=', 'x-tenant': 'one' },
  })
  const rows = [
    ['a', 1, 'must be a name, a colon and a value; correct the line'],
    ['a:', 1, 'must be a name, a colon and a value; correct the line'],
    ['a : b', 1, 'must be a name, a colon and a value; correct the line'],
    ['x: 1\nb: \u00e9', 2, 'must be a name, a colon and a value; correct the line'],
    ['Host: b', 1, 'must not set host'],
    ['A: 1\na: 2', 2, 'has a a second time'],
  ] as const
  for (const [text, line, message] of rows) t.strictSame(parseHeaderLines(text), { ok: false, line, message }, text)
})
