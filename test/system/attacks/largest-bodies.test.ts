/**
 * Each class of operations of both contracts with the largest bodies that the edge takes of a client and of a node: no turn of
 * the event loop is longer than its bound.
 */
import { once } from 'node:events'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import t, { type Test } from 'tap'
import type { Endpoint, Field } from '../../../src/contracts/endpoint.ts'
import { catalogue } from '../../../src/contracts/index.ts'
import { v4Contract } from '../../../src/contracts/v4/index.ts'
import { describedBody } from '../../../src/core/endpoint-names.ts'
import type { Layout } from '../../../src/core/node-call.ts'
import { type Settings, startEdge } from '../../support/edge.ts'
import { measureTurns } from '../../support/event-loop.ts'
import { startRedis } from '../../support/redis.ts'
import { bodies as bodiesOf, pathsOf, pathValues } from '../../support/sample-values.ts'

/** CPU milliseconds: the bound of src/core/turns.ts. */
const MAX_TURN_MS = 20
const MAX_RUNS = 4
/** If all of these take too long. */
const MAX_MORE_RUNS = 12
const MIB = 1024 * 1024
const UPLOAD_BYTES = 10 * MIB
const RESPONSE_BYTES = 10 * MIB

/**
 * The node and the client are in another thread, whose time does not count. The node answers each request other than a login
 * with the response that was set, and counts the bytes of the bodies that it gets.
 */
const outside = `
  const { createServer } = require('node:http')
  const { connect } = require('node:net')
  const { parentPort } = require('node:worker_threads')
  let [answer, request, received, marks] = [undefined, undefined, 0, 0]
  const token = [{ alg: 'ES512', typ: 'JWT' }, { sub: 'edge', iat: 1, nbf: 1, exp: 4e9 }]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.') + '.c2ln'
  const server = createServer((incoming, response) => {
    incoming.on('data', (chunk) => { received += chunk.length })
    incoming.on('end', () => {
      const isLogin = incoming.url.startsWith('/security/user/authenticate')
      const { type, bytes } = isLogin
        ? { type: 'application/json', bytes: Buffer.from(JSON.stringify({ data: { token }, error: 0 })) }
        : answer
      // Each response is another one, so that nothing of it is remembered.
      if (!isLogin && answer.markAt >= 0) bytes.write(String(marks += 1).padStart(5, '0'), answer.markAt)
      response.writeHead(200, { 'content-type': type, 'content-length': bytes.length }).end(bytes)
    })
  })
  server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port))
  parentPort.on('message', (message) => {
    if (message.answer) {
      const bytes = Buffer.from(message.answer.bytes)
      answer = { type: message.answer.type, bytes, markAt: bytes.subarray(0, 1024).indexOf('#####') }
    }
    if (message.request) request = message.request
    if (message === 'send') {
      received = 0
      const socket = connect(request.port, '127.0.0.1')
      let [start, length] = ['', 0]
      socket.on('data', (chunk) => {
        if (start.length < 4096) start += chunk.toString('latin1')
        length += chunk.length
      })
      socket.on('error', () => undefined)
      socket.on('close', () => parentPort.postMessage({ line: start.slice(0, start.indexOf('\\r\\n')), length, received }))
      socket.write(request.head)
      socket.write(request.bytes)
      return
    }
    parentPort.postMessage('ready')
  })
`

interface Content {
  readonly type: string
  readonly bytes: Buffer
}

interface Call {
  readonly url: string
  readonly method: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly content?: Content
}

interface Outcome {
  readonly line: string
  readonly length: number
  /** Bytes of bodies that the node received. */
  readonly received: number
}

async function startOutside(t: Test) {
  const worker = new Worker(outside, { eval: true })
  t.teardown(() => worker.terminate())
  const [port] = (await once(worker, 'message')) as [number]
  const post = async (message: unknown) => {
    const replied = once(worker, 'message')
    worker.postMessage(message)
    return (await replied)[0] as unknown
  }
  return {
    url: `http://127.0.0.1:${port}`,
    answerWith: (answer: Content) => post({ answer }),
    /** Returns the longest turn in which the edge answers the call, of the best run. */
    longestTurnOf: async ({ url, method, path, headers = {}, content }: Call) => {
      const bytes = content?.bytes ?? Buffer.alloc(0)
      const lines = {
        host: 'edge',
        connection: 'close',
        ...(content && { 'content-type': content.type, 'content-length': String(bytes.length) }),
        ...headers,
      }
      const head = Object.entries(lines).map(([name, value]) => `${name}: ${value}\r\n`)
      await post({
        request: { port: Number(new URL(url).port), head: `${method} ${path} HTTP/1.1\r\n${head.join('')}\r\n`, bytes },
      })
      let longest = Number.POSITIVE_INFINITY
      let outcome: Outcome | undefined
      for (let run = 0; longest >= (run < MAX_RUNS ? MAX_TURN_MS / 2 : MAX_TURN_MS) && run < MAX_MORE_RUNS; run += 1) {
        longest = Math.min(
          longest,
          await measureTurns(async () => {
            outcome = (await post('send')) as Outcome
          }),
        )
      }
      return { longest, outcome }
    },
  }
}

const SMALL: Readonly<Record<Layout, unknown>> = {
  v3: { error: 0, data: 'done' },
  v4: {
    data: { affected_items: [], total_affected_items: 0, failed_items: [], total_failed_items: 0 },
    message: 'done',
    error: 0,
  },
}

const jsonOf = (value: unknown): Content => ({ type: 'application/json', bytes: Buffer.from(JSON.stringify(value)) })

async function startBoth(t: Test, layout: Layout, settings: Settings = {}) {
  const outside = await startOutside(t)
  await outside.answerWith(jsonOf(SMALL[layout]))
  const edge = await startEdge({
    nodes: [{ name: 'master', type: 'master', url: outside.url }],
    settings: {
      ...settings,
      listen: { ...(layout === 'v4' && { secondPort: 0 }) },
      cluster: { ...Object(settings.cluster), layout, discover: false, experimental: true, limits: { perMinute: 0 } },
      access: { limits: { requestsPerSecond: 1e6, failedLogins: 1e6 } },
    },
  })
  t.teardown(() => edge.close())
  const authorization = edge.authorization('admin')
  if (edge.secondUrl === undefined) return { edge, outside, authorizations: { v3: authorization, v4: '' } }
  const login = await fetch(`${edge.secondUrl}/security/user/authenticate`, {
    method: 'POST',
    headers: { authorization },
  })
  const { data } = (await login.json()) as { data: { token: string } }
  return { edge, outside, authorizations: { v3: authorization, v4: `Bearer ${data.token}` } }
}

/** Values in paths of the v4 contract that those of the v3 one lack. */
const v4PathValues: Readonly<Record<string, string>> = {
  ...pathValues,
  node_id: 'master',
  agent_id: '001',
  component: 'analysis',
  dirname: 'etc%2Frules',
  policy_id: '1',
}

function pathOf({ method, path }: Endpoint, contract: 'v3' | 'v4'): string {
  const filename = path.startsWith('/lists') ? 'audit-keys' : 'local_rules.xml'
  const values: Readonly<Record<string, string>> =
    contract === 'v3'
      ? { ...pathValues, node_id: 'master', ...pathsOf[`${method} ${path}`] }
      : { ...v4PathValues, filename }
  const query = method !== 'GET' && path.endsWith('/files') ? '?path=etc/rules/local_rules.xml' : ''
  return path.replace(/:(\w+)/g, (_, name: string) => values[name] ?? '1') + query
}

/** One record of each class: what the edge does with a body depends on these parts of a record. */
function classesOf(records: readonly Endpoint[]): readonly Endpoint[] {
  const classes = new Map<string, Endpoint>()
  for (const record of records) {
    const { method, target, response } = record
    const key = JSON.stringify([method, describedBody(record), target, response.raw])
    if (!classes.has(key)) classes.set(key, record)
  }
  return [...classes.values()]
}

const filled = (unit: string, bytes = UPLOAD_BYTES - 1024) => unit.repeat(bytes / Buffer.byteLength(unit))

/** A valid value that the manager accepts, as large as possible where its description has no limit. */
function largestField({ value, type }: Field, text: string): unknown {
  if (value === undefined) return type === 'integer' ? 1 : type === 'strings' ? ['001'] : undefined
  switch (value.type) {
    case 'array':
      return value.items.type === 'string' && value.items.format === undefined && !value.items.words ? [text] : []
    case 'object':
      return { large: text }
    case 'integer':
    case 'number':
      return Math.max(value.minimum ?? 1, 1)
    case 'boolean':
      return true
    default:
      return value.words?.[0] ?? (value.format === undefined && !value.maxLength ? text : 'abcd')
  }
}

const texts: Readonly<Record<string, string>> = {
  letters: filled('x'),
  quotes: filled('"', UPLOAD_BYTES / 2 - 1024),
  'line ends': filled('\n', UPLOAD_BYTES / 2 - 1024),
  'two bytes each': filled('é'),
}

function* largestBodies(endpoint: Endpoint, contract: 'v3' | 'v4'): Generator<readonly [string, Content]> {
  const body = describedBody(endpoint)
  if (body?.kind === 'upload') {
    if (body.types.includes('application/xml') || contract === 'v4')
      yield ['XML', { type: body.types[0] ?? '', bytes: Buffer.from(`<a>${filled('x')}</a>`) }]
    if (body.types.includes('application/octet-stream'))
      yield ['a list', { type: 'application/octet-stream', bytes: Buffer.from(filled('a:b\n')) }]
    return
  }
  if (contract === 'v3') {
    const bytes = 99 * 1024
    yield ['a form', { type: 'application/x-www-form-urlencoded', bytes: Buffer.from(filled('a=1&', bytes)) }]
    const fields = { ...bodiesOf[`${endpoint.method} ${endpoint.path}`], name: filled('"', bytes / 2) }
    yield ['JSON', jsonOf(fields)]
    return
  }
  if (body === undefined) {
    yield ['a form', { type: 'application/x-www-form-urlencoded', bytes: Buffer.from(filled('a=1&')) }]
    yield ['a form of two bytes each', { type: 'application/x-www-form-urlencoded', bytes: Buffer.from(filled('é')) }]
    yield ['a JSON text', jsonOf(filled('x'))]
    return
  }
  for (const [name, text] of Object.entries(texts)) {
    // One field is large; the others make it valid.
    for (const [large, field] of Object.entries(body.fields)) {
      if (!JSON.stringify(largestField(field, '#'))?.includes('#')) continue
      const values = Object.entries(body.fields).map(([other, its]) => [
        other,
        largestField(its, other === large ? text : 'abcd'),
      ])
      yield [`${large} of ${name}`, jsonOf(Object.fromEntries(values))]
    }
    if (body.open) yield [`an open field of ${name}`, jsonOf({ large: text })]
  }
  if (!body.open) return
  const names = Array.from({ length: 9_999 }, (_, at) => [`${at}`.padEnd(1000, 'x'), at])
  yield ['open fields with long names', jsonOf(Object.fromEntries(names))]
}

for (const layout of ['v3', 'v4'] as const) {
  t.test(`the largest bodies of clients in front of nodes of the ${layout} layout`, async (t) => {
    const { edge, outside, authorizations } = await startBoth(t, layout)
    const ports = [
      { contract: 'v3', url: edge.url, records: catalogue, leastPassedOn: layout === 'v3' ? 1 : 0 },
      { contract: 'v4', url: edge.secondUrl, records: v4Contract, leastPassedOn: 30 },
    ] as const
    for (const { contract, url, records, leastPassedOn } of ports) {
      if (url === undefined) continue
      const passedOn: string[] = []
      for (const endpoint of classesOf(records)) {
        if (endpoint.path.includes('authenticate') && describedBody(endpoint) === undefined) continue
        for (const [what, content] of largestBodies(endpoint, contract)) {
          const name = `${endpoint.method} ${endpoint.path}, ${what}`
          const { longest, outcome } = await outside.longestTurnOf({
            url,
            method: endpoint.method,
            path: pathOf(endpoint, contract),
            // The login with an authorization context takes a name and a password.
            headers: {
              authorization: authorizations[endpoint.path.endsWith('/run_as') ? 'v3' : contract],
            },
            content,
          })
          if ((outcome?.received ?? 0) >= content.bytes.length / 2) passedOn.push(name)
          t.ok(longest < MAX_TURN_MS, `${contract}: ${name}: ${longest.toFixed(1)} ms, ${outcome?.line}`)
        }
      }
      t.ok(passedOn.length >= leastPassedOn, `the node received ${passedOn.length} of them: ${passedOn.join('; ')}`)
    }
  })
}

/** Responses of a node to any read. */
const responses: Readonly<Record<string, (bytes: number) => Content>> = {
  rows: (bytes) => itemsOf(rowsOf(bytes / SHORT_ROW_BYTES, SHORT_ROW_BYTES)),
  'a page of rows': (bytes) => itemsOf(rowsOf(ROWS_PER_PAGE, bytes / ROWS_PER_PAGE)),
  'one row': (bytes) => itemsOf([{ id: '001', mark: '#####', name: filled('x', bytes), ...LAST_MEMBERS }]),
  'one row of quotes': (bytes) =>
    itemsOf([{ id: '001', mark: '#####', name: filled('"', bytes / 2), ...LAST_MEMBERS }]),
  'one text of quotes': (bytes) => jsonOf({ error: 0, data: `#####${filled('"', bytes / 2)}` }),
  'one object': (bytes) => jsonOf({ error: 0, data: { mark: '#####', name: filled('"', bytes / 2), ...LAST_MEMBERS } }),
  'an error': (bytes) => jsonOf({ error: 1017, message: `#####${filled('"', bytes / 2)}` }),
}

const SHORT_ROW_BYTES = 600
const ROWS_PER_PAGE = 1000
/** Members by which rows are sorted or chosen. */
const LAST_MEMBERS = { status: 'active', timestamp: '2026-01-01 00:00:00', scan: { id: 1 }, agent_id: '001' }

function rowsOf(count: number, bytes: number): readonly unknown[] {
  const name = 'x'.repeat(bytes - 200)
  return Array.from({ length: count }, (_, at) => ({
    id: String(at).padStart(7, '0'),
    mark: '#####',
    name,
    ...LAST_MEMBERS,
  }))
}

const itemsOf = (items: readonly unknown[]) => jsonOf({ error: 0, data: { items, totalItems: items.length } })

const reads = catalogue.filter(({ method, target }) => method === 'GET' && target.kind !== 'edge')
/** The rows of many nodes or agents become one collection. */
const isMerged = ({ target }: Endpoint) => target.kind === 'everyNode' || target.kind === 'severalNodes'
/** One of each kind: those of all nodes are merged by the same code. */
const merged = new Map(
  reads.filter(isMerged).map((read) => {
    const isOfRows = 'cache' in read && !('never' in read.cache) && 'storedRows' in read.cache
    return [JSON.stringify([read.target.kind, isOfRows, read.response.data]), read] as const
  }),
)
const ofOneNode = ['rows', 'one row', 'one text of quotes']
const cases = {
  'of one node': { reads: classesOf(reads.filter((read) => !isMerged(read))), distribution: 'manager', sorts: [''] },
  'joined by the manager': { reads: [...merged.values()], distribution: 'manager', sorts: ['', '&sort=-name'] },
  'joined by the edge': { reads: [...merged.values()], distribution: 'edge', sorts: ['', '&sort=-name'] },
} as const

for (const [name, { reads, distribution, sorts }] of Object.entries(cases)) {
  t.test(`the largest responses of nodes, indented, ${name}`, async (t) => {
    const { edge, outside, authorizations } = await startBoth(t, 'v3', { cluster: { distribution } })
    let large = 0
    for (const [what, create] of Object.entries(responses)) {
      if (name === 'of one node' && !ofOneNode.includes(what)) continue
      await outside.answerWith(create(RESPONSE_BYTES))
      for (const endpoint of reads) {
        for (const sort of sorts) {
          const { longest, outcome } = await outside.longestTurnOf({
            url: edge.url,
            method: 'GET',
            path: `${pathOf(endpoint, 'v3')}?pretty=true${sort}`,
            headers: { authorization: authorizations.v3, 'cache-control': 'no-cache' },
          })
          const figures = `${longest.toFixed(1)} ms, ${outcome?.line}, ${outcome?.length} bytes`
          t.ok(longest < MAX_TURN_MS, `GET ${endpoint.path}${sort}, ${what}: ${figures}`)
          if ((outcome?.length ?? 0) > RESPONSE_BYTES / 2) large += 1
        }
      }
    }
    t.ok(large >= 10, `${large} of them reach the client`)
  })
}

t.test('the largest responses of nodes, stored in Redis with encryption', async (t) => {
  const redis = await startRedis()
  t.teardown(() => redis.close())
  const encryptionKeyFile = join(t.testdir({ key: 'k'.repeat(32) }), 'key')
  const settings = { cache: { redis: { url: redis.url, timeout: '1s' }, encryptionKeyFile, localBytes: '1MiB' } }
  const { edge, outside, authorizations } = await startBoth(t, 'v3', settings)
  for (const [what, create] of Object.entries(responses)) {
    await outside.answerWith(create(RESPONSE_BYTES))
    for (const [how, cacheControl] of Object.entries({ written: 'no-cache', read: 'max-age=60' })) {
      const { longest, outcome } = await outside.longestTurnOf({
        url: edge.url,
        method: 'GET',
        path: '/manager/info',
        headers: { authorization: authorizations.v3, 'cache-control': cacheControl },
      })
      t.ok(longest < MAX_TURN_MS, `${what}, ${how}: ${longest.toFixed(1)} ms, ${outcome?.line}`)
    }
  }
  t.ok((await redis.client().keys('edge:c:*')).length > 0, 'Redis has a response')
})
