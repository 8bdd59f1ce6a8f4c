import t from 'tap'
import { formatClusterStatus } from '../../../src/join/cluster-status.ts'
import { receivePart } from '../../../src/join/node-part.ts'
import { NodeReport } from '../../../src/join/node-report.ts'
import { OF_NODE } from '../../../src/layouts/dialect.ts'
import { edgeRequest } from '../../support/edge-requests.ts'
import { storedResponse } from '../../support/stored-response.ts'

const none = { errors: [], parts: 0, hits: 0, rtt: 0, rows: 0, total: 0 }
const errorOf = (proxyError: string) => ({ code: 1017, message: '', proxyError })
const response = { kind: 'envelope', status: 200, body: Buffer.from('{}'), errorNumber: 1017, origin: OF_NODE } as const

t.test('Cluster-Status has one member per node, with parameters of RFC 9211 and RFC 9209', async (t) => {
  t.equal(
    formatClusterStatus([
      ['master', { ...none, parts: 2, hits: 1, rtt: 12.4, rows: 40 }],
      ['worker-1', { ...none, errors: [errorOf('connection_timeout')] }],
      ['worker-2', { ...none, parts: 1, hits: 1, rows: 3 }],
    ]),
    'master;rtt=12;rows=40, worker-1;error=connection_timeout, worker-2;hit;rows=3',
  )
})

t.test('names and details that are no tokens are quoted strings', async (t) => {
  const hit = { ...none, parts: 1, hits: 1 }
  t.equal(formatClusterStatus([['9-lives', hit]]), '"9-lives";hit;rows=0')
  t.equal(formatClusterStatus([['_x', hit]]), '"_x";hit;rows=0')
  t.equal(formatClusterStatus([['a', { ...hit, detail: 'K "é\n' }]]), 'a;hit;detail="K \\"??";rows=0')
  t.equal(
    formatClusterStatus([['a', { ...none, errors: [{ ...errorOf('http_protocol_error'), response }] }]]),
    'a;error=http_protocol_error;received-status=200;detail="1017"',
  )
})

t.test('Cluster-Status has a maximum length; nodes beyond it are counted', async (t) => {
  const failed = { ...none, errors: [errorOf('destination_not_found')] }
  const nodes = Array.from({ length: 1000 }, (_, at) => [`n${at}`, failed] as const)
  const text = formatClusterStatus(nodes)
  t.ok(text.length < 12_100)
  const members = text.split(', ')
  t.equal(members.at(-1), `*;omitted=${1000 - (members.length - 1)}`)
  t.equal(members.at(-2), `n${members.length - 2};error=destination_not_found`)
  t.equal(formatClusterStatus(nodes.slice(0, 300)).includes('*'), false)
})

t.test('metrics get what nodes of the cluster contributed, and no unknown name of a request', async (t) => {
  const nodes = ['w1', 'w2']
  const report = new NodeReport(nodes, performance.now())
  report.addError('w2', errorOf('connection_timeout'))
  report.addError('unknown', errorOf('destination_not_found'))
  t.strictSame(
    report.contributionsOf(nodes).map(({ node, error }) => [node, error]),
    [['w2', 'connection_timeout']],
  )
  t.match(report.clusterStatus, 'unknown;error=destination_not_found')
})

t.test('a joined collection is fresh no longer than the stored part that expires first', async (t) => {
  const request = edgeRequest('GET /experimental/syscollector/os')
  const report = new NodeReport(['w1', 'w2', 'w3'], performance.now())
  const readPart = async (node: string, timeLeft: number | undefined) => {
    const body = Buffer.from('{"error":0,"data":{"items":[],"totalItems":0}}')
    const stored = storedResponse(body, { ttl: 5000 + (timeLeft ?? 0), fetchTime: 900 })
    const hit = { kind: 'stored', response: stored, age: 5000, status: { hit: true } } as const
    const origin = timeLeft === undefined ? OF_NODE : hit
    const response = { kind: 'envelope', status: 200, body, errorNumber: 0, origin } as const
    const part = await receivePart(async () => response, request, request.client)
    if (part.ok) report.addPart(node, part)
  }
  const freshFor = () => report.madeOf.partsFreshFor
  await readPart('w1', undefined)
  t.equal(freshFor(), Number.POSITIVE_INFINITY, 'a part that may not be stored was fetched now')
  await readPart('w2', 3000)
  await readPart('w3', 1000)
  const left = freshFor()
  t.ok(left > 0 && left <= 1000, `${left} ms`)
})

t.test('parts of a joined collection may expire while others are fetched', async (t) => {
  const request = edgeRequest('GET /experimental/syscollector/os')
  const report = new NodeReport(['w1'], performance.now())
  const body = Buffer.from('{"error":0,"data":{"items":[],"totalItems":0}}')
  const stored = storedResponse(body, { ttl: 20, fetchTime: 0 })
  const origin = { kind: 'fetched', response: stored, age: 0, status: { stored: true }, from: OF_NODE } as const
  const part = await receivePart(
    async () => ({ kind: 'envelope', status: 200, body, errorNumber: 0, origin }),
    request,
    request.client,
  )
  if (part.ok) report.addPart('w1', part)
  const start = performance.now()
  while (performance.now() < start + 25) await new Promise((resolve) => setImmediate(resolve))
  const { partsFreshFor } = report.madeOf
  t.ok(partsFreshFor > 0 && partsFreshFor <= 20, `${partsFreshFor} ms`)
})

t.test('agents that are not covered are counted in a member that no node can have', async (t) => {
  const report = new NodeReport(['master', 'worker-1'], performance.now())
  report.coverage = { covered: 2, all: 10 }
  t.equal(report.clusterStatus, '*;agents=2;all-agents=10')
  t.equal(report.madeOf.completeness, 'cut')
})

t.test('a response of which one part is served without Redis is marked so, and not stored', async (t) => {
  const request = edgeRequest('GET /experimental/syscollector/os')
  const body = Buffer.from('{"error":0,"data":{"items":[],"totalItems":0}}')
  const report = new NodeReport(['w1', 'w2', 'w3'], performance.now())
  const details = [undefined, 'without-redis', 'outage'] as const
  for (const [at, detail] of details.entries()) {
    const status = { hit: true, ...(detail && { detail }) } as const
    const origin = { kind: 'stored', response: storedResponse(body, { ttl: 5000 }), age: 0, status } as const
    const response = { kind: 'envelope', status: 200, body, errorNumber: 0, origin } as const
    const part = await receivePart(async () => response, request, request.client)
    if (part.ok) report.addPart(`w${at + 1}`, part)
  }
  t.match(report.madeOf, { mark: 'without-redis', completeness: 'partial' })
})
