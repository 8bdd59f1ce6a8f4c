import t, { type Test } from 'tap'
import { Client } from 'undici'
import { startEdge } from '../edge.ts'
import { differenceOf, differences } from './differences.ts'
import { type Exchange, isRefusal, json, name, recorded } from './exchanges.ts'
import { ReplayNode } from './replay-node.ts'

const exchanges = recorded()
/** The whole list, of two recorded pages of it. */
const nodes = JSON.stringify({
  error: 0,
  data: { totalItems: 3, items: [...rows('limit=1'), ...rows('sort=-name&limit=2')] },
})

function rows(query: string): unknown[] {
  const page = exchanges.find(
    ({ request }) => request.path.replace('wait_for_complete&', '') === `/cluster/nodes?${query}`,
  )
  return (json(page?.response.body ?? '')?.data as { items?: unknown[] } | undefined)?.items ?? []
}

const pending = (async () => {
  const node = new ReplayNode(nodes)
  const edge = await startEdge({
    nodes: [{ name: 'master', type: 'master', url: await node.listen() }],
    settings: {
      // Each answer is to come from the node.
      cache: { enabled: false },
      listen: { limits: { upload: '1MiB' } },
      access: { limits: { requests: 100_000, failedLogins: 1000 } },
    },
  })
  // A client of its own, since `fetch` would fold paths such as `//`.
  return { node, edge, client: new Client(edge.url) }
})()
t.teardown(async () => {
  const { node, edge, client } = await pending
  await client.close()
  await edge.close()
  await node.close()
})

const credentials: Readonly<Record<Exchange['auth'], (good: string) => Record<string, string>>> = {
  ok: (good) => ({ authorization: good }),
  bad: () => ({ authorization: `Basic ${Buffer.from('nobody:wrong').toString('base64')}` }),
  none: () => ({}),
  garbage: () => ({ authorization: 'Basic !!!' }),
  bearer: () => ({ authorization: 'Bearer x.y.z' }),
}

interface Outcome {
  readonly status: number
  readonly type: string
  readonly text: string
  readonly calls: number
}

/** Sends one recorded request through the edge, with the recorded answer ready at the node. */
async function replay(exchange: Exchange): Promise<Outcome> {
  const { node, edge, client } = await pending
  node.expected = exchange
  const before = node.calls.length
  const { method, path, headers, body } = exchange.request
  const answer = await client.request({
    path,
    method: method as 'GET',
    headers: { ...headers, ...credentials[exchange.auth](edge.authorization('admin')) },
    body,
  })
  const text = await answer.body.text()
  return {
    status: answer.statusCode,
    type: String(answer.headers['content-type'] ?? ''),
    text,
    calls: node.calls.length - before,
  }
}

/** `pretty` is JSON by its name too (docs/contract-decisions.md). */
function typeOf({ response }: Exchange): string | undefined {
  return response.headers['content-type']?.replace('text/html', 'application/json')
}

function check(t: Test, exchange: Exchange, outcome: Outcome): void {
  const difference = differenceOf(exchange)
  const { response } = exchange
  const expected = difference?.expect?.(exchange)
  if (expected !== undefined) {
    t.equal(outcome.status, expected.status, 'status as intended')
    if (expected.error !== undefined) t.equal(json(outcome.text)?.error, expected.error, outcome.text)
    t.equal(outcome.calls, 0, 'no node was asked')
    return
  }
  t.equal(outcome.status, response.status, `status; got ${outcome.text.slice(0, 200)}`)
  t.equal(outcome.type, typeOf(exchange), 'content type')
  if (exchange.request.method === 'HEAD') return void t.equal(outcome.text, '')
  const wanted = json(response.body)
  if (wanted === undefined) t.equal(outcome.text, response.body, 'raw bytes')
  else if (difference?.wordsOnly) t.equal(json(outcome.text)?.error, wanted.error)
  else if (response.body?.includes('\n')) t.equal(outcome.text, response.body, 'pretty, byte for byte')
  else t.strictSame(json(outcome.text), wanted)
  const called = !isRefusal(exchange) && response.status !== 401 && Number(wanted?.error) !== 603
  t.equal(outcome.calls, called ? 1 : 0, called ? 'one call to the node' : 'no node was asked')
}

t.test('recorded exchanges come through the edge unchanged, but for the listed differences', async (t) => {
  t.ok(exchanges.length > 600)
  for (const exchange of exchanges.filter((one) => !differenceOf(one)?.skip)) {
    const outcome = await replay(exchange)
    await t.test(name(exchange), async (t) => check(t, exchange, outcome))
  }
})

t.test('every listed difference occurs', async (t) => {
  for (const difference of differences) {
    t.ok(
      exchanges.some((exchange) => differenceOf(exchange) === difference),
      difference.reason,
    )
  }
})
